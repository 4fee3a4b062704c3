// Presenter mode: larger text and only the run, for a projector; Escape ends it. N opens the speaker
// notes, which are another window of this page.

import { writeAddress } from "../shared/address";
import { isTyping } from "../shared/dom";
import { isDark, openedTab } from "../shared/gradio";
import { SERVER } from "../shared/server";
import { classBegun, lesson, moment } from "../shared/store";
import { Button, render } from "../shared/view";
import { frameAt, player, questionAt } from "./state";
import { nextStep } from "./dock";
import { notice } from "./live";
import { sayingOf } from "./paint";
import { act } from "./playback";
import { $, stage } from "./stage";

import type { Word } from "../../frames/scene.py";
import type { Part } from "../../texts/__init__.py";
import type { Paragraph } from "../learn/lessons.py";
/** What the speaker of a lesson needs. */
export type LessonNotes = {
  name: string;
  title: string;
  at: number;
  steps: number;
  notes: Paragraph[];
  answer: Paragraph | null;
  next: string;
};
/** What the window of the notes shows. */
export type SpeakerState = {
  label: string;
  sentence: Part[];
  /** Null if no run is on screen, which the window would step. */
  next: [name: string, token: Word | null] | null;
  lesson: LessonNotes | null;
  /** When the class of a plan began, in milliseconds; 0 if its clock is not running. */
  begun: number;
  dark: boolean;
};
export type Answer = { sv: "notes"; state: SpeakerState };

const NOTES = new URL("notes", SERVER).href;
const BLOCKED =
  "The browser blocked the window of the speaker notes. Allow pop-ups for this page, then press N.";

const { classList } = document.body;
let wasLarge = false; // state before presenter mode began
let notes: Window | null = null;

export const isPresenting = () => classList.contains("sv-presents");

/** The button that begins presenter mode, with this class. */
export const PresentButton = (look: string) =>
  Button("Present", begin, {
    class: look,
    key: "present",
    "data-do": "present",
    title: "Larger text and the run alone; Escape leaves",
  });

/** The button that opens the speaker notes. */
export const NotesButton = () =>
  Button("Speaker notes", openNotes, {
    class: "sv-button",
    key: "notes",
    "data-do": "notes",
    title: "What to say, in a second window; the key N in presenter mode opens it, too",
  });

export const PresentButtons = () => (
  <p class="sv-pictures sv-presenter">
    {PresentButton("sv-button")}
    {NotesButton()}
  </p>
);

const LeaveButton = () =>
  Button("×", leave, {
    class: "sv-away",
    "aria-label": "Leave Present",
    title: "Leave Present (Escape)",
  });

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
  address(null);
}

// A reloaded page, or a copied link, also opens in presenter mode.
function address(present: string | null) {
  writeAddress({ present });
  window.dispatchEvent(new Event("resize"));
}

function openNotes() {
  if (notes && !notes.closed) return notes.focus();
  notes = window.open(NOTES, "sv-notes", "popup,width=760,height=860");
  if (!notes) notice(BLOCKED);
  else if ($(".sv-notice").textContent === BLOCKED) notice("");
  return undefined;
}

/** Whether Step is the open tab. */
const isRunShown = () => stage.element.offsetParent !== null;

function speakerState(): SpeakerState {
  const { question, whatIf, at } = player;
  const shared = {
    next: isRunShown() ? nextStep() : null,
    lesson: lesson.value?.notes ?? null,
    begun: classBegun.value,
    dark: isDark(),
  };
  if (!shared.next) return { label: "Tab", sentence: [openedTab("sv-tabs")], ...shared };
  if (!player.rounds.length) return { label: "", sentence: [], ...shared };
  const { label, parts } = question
    ? questionAt(...question).caption
    : sayingOf(frameAt(at.round, at.step));
  if (whatIf) return { label: "What if?", sentence: [$(".sv-say").textContent], ...shared };
  return { label, sentence: parts, ...shared };
}

function tell() {
  if (!notes || notes.closed) return;
  notes.postMessage({ sv: "notes", state: speakerState() }, location.origin);
}

const ASKED: Record<string, () => unknown> = {
  state: () => {},
  next: () => isRunShown() && act("next"),
  back: () => isRunShown() && act("back"),
  "lesson-next": () => lesson.value?.turn(1),
  "lesson-back": () => lesson.value?.turn(-1),
};

// Use a window of notes that was opened before this page was reloaded.
function hear({ origin, source, data }: MessageEvent) {
  if (origin !== location.origin || data?.sv !== "notes" || !Object.hasOwn(ASKED, data.ask)) return;
  notes = source as Window;
  ASKED[data.ask]();
  tell();
}

const PAGES: Record<string, number> = { PageDown: 1, PageUp: -1 }; // what a clicker sends

function onKey(event: KeyboardEvent) {
  const { key, target } = event;
  if (!isPresenting() || event.defaultPrevented || document.querySelector("dialog[open]")) return;
  if (key === "Escape") return leave();
  if (isTyping(target) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (key.toLowerCase() === "n") openNotes();
  if (!lesson.value || !PAGES[key]) return;
  event.preventDefault();
  lesson.value.turn(PAGES[key]);
}

/** @param linked Whether the page's address asks for presenter mode. */
export function startPresenting(linked: boolean) {
  document.addEventListener("keydown", onKey);
  window.addEventListener("message", hear);
  const corner = document.createElement("div"); // over every tab
  corner.className = "sv-leave";
  render(LeaveButton(), corner);
  document.body.append(corner);
  for (const shared of [moment, lesson, classBegun]) shared.on(tell);
  if (linked) begin();
}
