// Simple or Details. Simple shows one sentence, one picture and two time rows; Details shows
// everything. The choice is remembered by the browser; ?details=1 and ?details=0 choose for one visit.

import { isTyping } from "../shared/dom";
import { onBodyClass } from "../shared/page";
import { reached } from "../shared/progress";
import { local } from "../shared/storage";
import { Button } from "../shared/view";
import { notice } from "./live";
import { $, stage } from "./stage";
import { changed } from "./state";

const KEY = "sv-details";
const TOUR = "sv-tour-taken";
const BRIDGED = "sv-bridged";
const BRIDGE =
  "The same with the field’s words: small model = drafter, with probabilities q; big model = target, with p. 0.85 is 85 %. Kept is accepted, replaced is recovered, one more is the bonus, and the missing part is the residual.";
const FIRST_LESSON = "01-one-token-per-pass";
// States of the page that need everything on screen; each is a class of the body.
const DETAILED = ["lesson-details", "in-vote", "excerpt"];
const SIMPLE = "sv-in-simple";
const CHOSEN = "sv-lesson-simple"; // a lesson is about the picture, whatever the reader has chosen

let details = false;

/** Return whether Step shows only a sentence and a picture. */
export const isSimple = () => document.body.classList.contains(SIMPLE);

/** Return whether the reader knows the words drafter and target, from the tour or lesson 1. */
export const knowsTerms = () => local.get(TOUR) === "1" || Boolean(reached(FIRST_LESSON)?.done);

/** Remember that the reader has seen the end of the tour. */
export const rememberTour = () => local.set(TOUR, "1");

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
  changed.set("mode");
}

/** Switch between the two modes and remember the choice. */
export function switchMode() {
  details = isSimple();
  local.set(KEY, details ? "1" : "0");
  updateMode();
  bridge();
}

// The words of Details, said once, to those who switch to it before they have learned them.
function bridge() {
  if (isSimple()) return $(".sv-notice").textContent === BRIDGE ? notice("") : undefined;
  if (knowsTerms() || local.get(BRIDGED) === "1") return undefined;
  local.set(BRIDGED, "1");
  return notice(BRIDGE);
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
  if (key !== "d" || isTyping(target) || ctrlKey || metaKey || altKey) return;
  if (document.querySelector("dialog[open]") || !stage.element.offsetParent) return;
  switchMode();
}

/** Show a mode without remembering it. */
export function showDetails(shown: boolean) {
  details = shown;
  updateMode();
}

/** Show the remembered mode. */
export function startMode() {
  const asked = new URLSearchParams(location.search).get("details");
  details = asked === null ? local.get(KEY) === "1" : asked !== "0";
  updateMode();
  onBodyClass(updateMode);
  new ResizeObserver(updateMode).observe(stage.element); // another tab is opened
  document.addEventListener("keydown", onKey);
}
