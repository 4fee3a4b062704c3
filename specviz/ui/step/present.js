// Presenter mode: larger text and only the run, for a projector; Escape ends it. N opens the speaker
// notes, which are another window of this page.

import { isDark } from "../shared/gradio.js";
import { SERVER } from "../shared/server.js";
import { Button, h, toElement } from "../shared/view.js";
import { now } from "./cursor.js";
import { nextStep } from "./dock.js";
import { notice } from "./live.js";
import { act } from "./playback.js";
import { frameAt, questionAt, reel } from "./reel.js";
import { $ } from "./stage.js";

/** @import { Word } from "../../frames/scene.py" */
/** @import { Part } from "../../texts/__init__.py" */
/** @import { Paragraph } from "../learn/lessons.py" */
/**
 * What the speaker of a lesson needs.
 * @typedef {{
 *   name: string,
 *   title: string,
 *   at: number,
 *   steps: number,
 *   notes: Paragraph[],
 *   answer: Paragraph | null,
 *   next: string,
 * }} LessonNotes
 */
/**
 * What the window of the notes shows.
 * @typedef {{
 *   label: string,
 *   sentence: Part[],
 *   next: [name: string, token: Word | null],
 *   lesson: LessonNotes | null,
 *   dark: boolean,
 * }} SpeakerState
 */
/** @typedef {{ sv: "notes", state: SpeakerState }} Answer */
/** @typedef {{ speaker: LessonNotes | null, turn(by: number): void }} OpenLesson */

const NOTES = new URL("notes", SERVER).href;
const BLOCKED =
  "The browser blocked the window of the speaker notes. Allow pop-ups for this page, then press N.";

const { classList } = document.body;
let wasLarge = false; // state before presenter mode began
/** @type {Window | null} */
let notes = null;

export const isPresenting = () => classList.contains("sv-presents");

export const presentButtons = () =>
  toElement(
    h(
      "p",
      { class: "sv-pictures sv-presenter" },
      Button("Present", begin, {
        class: "sv-link",
        "data-do": "present",
        title: "Larger text and the run alone; Escape leaves",
      }),
      Button("Speaker notes", openNotes, {
        class: "sv-link",
        title: "What to say, in a second window; the key N in presenter mode opens it, too",
      }),
      Button("Leave presenter mode", leave, {
        class: "sv-link",
        "data-do": "leave",
        title: "Escape leaves, too",
      }),
    ),
  );

function begin() {
  if (isPresenting()) return;
  wasLarge = classList.contains("sv-large");
  classList.add("sv-presents", "sv-large");
  address("1");
  scrollTo(0, 0);
}

function leave() {
  classList.remove("sv-presents");
  classList.toggle("sv-large", wasLarge);
  address("");
}

// A reloaded page, or a copied link, also opens in presenter mode.
/** @param {string} value */
function address(value) {
  const url = new URL(location.href);
  if (value) url.searchParams.set("present", value);
  else url.searchParams.delete("present");
  history.replaceState(history.state, "", url);
  window.dispatchEvent(new Event("resize"));
}

function openNotes() {
  begin();
  if (notes && !notes.closed) return notes.focus();
  notes = window.open(NOTES, "sv-notes", "popup,width=760,height=860");
  if (!notes) notice(BLOCKED);
  else if ($(".sv-notice").textContent === BLOCKED) notice("");
  return undefined;
}

const lesson = () => /** @type {OpenLesson | undefined} */ (window.specviz.lesson);

/** @returns {SpeakerState} */
function speakerState() {
  const { question, whatIf, at } = now;
  const shared = { next: nextStep(), lesson: lesson()?.speaker ?? null, dark: isDark() };
  if (!reel.rounds.length) return { label: "", sentence: [], ...shared };
  const frame = question ? questionAt(...question) : frameAt(at.round, at.step);
  const { label, parts } = frame.caption;
  if (whatIf) return { label: "What if?", sentence: [$(".sv-say").textContent], ...shared };
  return { label, sentence: parts, ...shared };
}

function tell() {
  if (!notes || notes.closed) return;
  notes.postMessage({ sv: "notes", state: speakerState() }, location.origin);
}

/** @type {Record<string, () => void>} */
const ASKED = {
  state: () => {},
  next: () => act("next"),
  back: () => act("back"),
  "lesson-next": () => lesson()?.turn(1),
  "lesson-back": () => lesson()?.turn(-1),
};

// Use a window of notes that was opened before this page was reloaded.
/** @param {MessageEvent} event */
function hear({ origin, source, data }) {
  if (origin !== location.origin || data?.sv !== "notes" || !Object.hasOwn(ASKED, data.ask)) return;
  notes = /** @type {Window} */ (source);
  ASKED[data.ask]();
  tell();
}

/** @param {KeyboardEvent} event */
function onKey({ key, target, defaultPrevented, ctrlKey, metaKey, altKey }) {
  if (!isPresenting() || defaultPrevented || document.querySelector("dialog[open]")) return;
  const typing = target instanceof Element && target.closest("input, textarea, select");
  if (key === "Escape") leave();
  else if (key.toLowerCase() === "n" && !typing && !ctrlKey && !metaKey && !altKey) openNotes();
}

/** @param {boolean} linked Whether the page's address asks for presenter mode. */
export function startPresenting(linked) {
  document.addEventListener("keydown", onKey);
  window.addEventListener("message", hear);
  for (const name of ["sv-moment", "sv-progress"]) window.addEventListener(name, tell);
  if (linked) begin();
}
