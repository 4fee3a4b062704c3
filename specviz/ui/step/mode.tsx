// Simple or Details. Simple shows one sentence, one picture and two time rows; Details shows
// everything. The choice is remembered by the browser; ?details=1 and ?details=0 choose for one visit.

import { onBodyClass } from "../shared/page";
import { progress } from "../shared/progress";
import { Button } from "../shared/view";
import { stage } from "./stage";

const KEY = "sv-details";
const TOUR = "sv-tour-taken";
const FIRST_LESSON = "01-one-token-per-pass";
// States of the page that need everything on screen; each is a class of the body.
const DETAILED = ["lesson-details", "in-tour", "in-vote", "presents", "excerpt", "replay"];
const SIMPLE = "sv-in-simple";
const CHOSEN = "sv-lesson-simple"; // a lesson is about the picture, whatever the reader has chosen

let details = false;
let show = () => {};

function recall(key: string) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function keep(key: string, value: string) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Without storage, the choice lasts until the page is closed.
  }
}

/** Return whether Step shows only a sentence and a picture. */
export const isSimple = () => document.body.classList.contains(SIMPLE);

/** Return whether the reader knows the words drafter and target, from the tour or lesson 1. */
export const knowsTerms = () => recall(TOUR) === "1" || Boolean(progress()[FIRST_LESSON]?.done);

/** Remember that the reader has seen the end of the tour. */
export const rememberTour = () => keep(TOUR, "1");

/** Show the mode that the state of the page asks for. */
export function updateMode() {
  // Other tabs share the page's head and the styles of the form, which the mode reduces.
  const { classList } = document.body;
  const shown = stage.element.offsetParent !== null;
  const reduced = !details && !DETAILED.some((name) => classList.contains("sv-" + name));
  const simple = shown && (reduced || classList.contains(CHOSEN));
  if (simple === isSimple()) return;
  classList.toggle(SIMPLE, simple);
  stage.find(".sv")?.classList.toggle("sv-simple", simple);
  show();
}

/** Switch between the two modes and remember the choice. */
export function switchMode() {
  details = isSimple();
  keep(KEY, details ? "1" : "0");
  updateMode();
}

/** The switch in the dock. */
export const ModeSwitch = () =>
  Button([ModeName("Simple", isSimple()), ModeName("Details", !isSimple())], switchMode, {
    key: "mode",
    class: "sv-mode",
    role: "switch",
    "aria-checked": String(!isSimple()),
    "aria-label": "Details",
    title: "One picture, or all details (key d)",
  });

const ModeName = (name: string, chosen: boolean) => (
  <span class={chosen ? "sv-chosen" : ""}>{name}</span>
);

function onKey({ key, target, ctrlKey, metaKey, altKey }: KeyboardEvent) {
  const fields = "input:not([type=checkbox]), textarea, select, [contenteditable]";
  const typing = target instanceof Element && target.closest(fields);
  if (key !== "d" || typing || ctrlKey || metaKey || altKey) return;
  if (document.querySelector("dialog[open]") || !stage.element.offsetParent) return;
  switchMode();
}

/**
 * Show the remembered mode, and `onChange` whenever it changes.
 * @param onChange Draws the step on screen again.
 */
export function startMode(onChange: () => void) {
  const asked = new URLSearchParams(location.search).get("details");
  details = asked === null ? recall(KEY) === "1" : asked !== "0";
  updateMode();
  show = onChange;
  onBodyClass(updateMode);
  new ResizeObserver(updateMode).observe(stage.element); // another tab is opened
  document.addEventListener("keydown", onKey);
}
