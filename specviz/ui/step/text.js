// The text strip: what earlier rounds left, a link to each of them, and the chips of this round.

import { el, flat, mark, running, special, startsSpaced, termed, word } from "../shared/dom.js";
import { oneStop } from "../shared/stops.js";
import { there } from "../shared/there.js";
import { go } from "./cursor.js";
import { link } from "./hover_links.js";
import { reel, stepsOf } from "./reel.js";
import { $ } from "./stage.js";
import { pickNode } from "./whatif.js";

/** @import { Child } from "../shared/data.js" */
/** @import { Chip, Frame, TurnBlock } from "./data.js" */

const RECENT = 120; // rounds; a longer text is cut at its start, so that a step stays quick
/** @type {Map<number, HTMLElement>} */
export const past = new Map(); // rounds in the strip, by index

/** @param {number} index */
function pastRound(index) {
  const told = reel.rounds[index];
  const done = el("span", "sv-done"); // no button element: it must break where lines do
  done.setAttribute("role", "button");
  done.tabIndex = 0;
  done.title = "Round " + told.number + ": go back to where this token was decided";
  const back = () => go(index, stepsOf(index) - 1);
  done.addEventListener("click", back);
  done.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    back();
  });
  for (const [pieces, kind, step] of told.brings) {
    const blank = pieces.every((piece) => typeof piece === "object" && piece.g === "newline");
    const spaced = startsSpaced(pieces); // the underline is the word's
    if (spaced) done.append(" ");
    const made = el("span", "sv-h sv-" + kind, running(spaced ? pieces.slice(1) : pieces));
    made.addEventListener("click", (event) => {
      event.stopPropagation();
      go(index, step); // to where this very token was decided
    });
    if (kind === "recovered" || kind === "bonus") made.append(there(mark(kind)));
    if (blank) made.classList.add("sv-only");
    const broken = made.querySelector("br");
    if (broken) made.append(broken); // after its mark, which belongs to the word
    done.classList.toggle("sv-ends-line", Boolean(broken));
    done.append(made);
  }
  return done;
}

// A guess of this round leads to its verdict, or asks what it would take to come to it.
/** @param {Chip} view */
export function chip(view, node = view.node) {
  const parts = [word(view.w), mark(view.is)];
  const made = node ? guess(node, parts) : el("span", "", ...parts);
  made.className = "sv-chip sv-" + view.is;
  const names = ["word " + flat(view.w), ...(node ? ["node " + node] : [])];
  return link(termed(made, view.is), ...names);
}

/** @param {number} node @param {Child[]} parts */
function guess(node, parts) {
  const made = el("button", "", ...parts);
  made.type = "button";
  made.addEventListener("click", () => pickNode(node));
  return made;
}

// Rounds from..round - 1 are in the strip, each made once.
/** @param {number} from @param {number} round */
function showPast(from, round) {
  for (const [index, link] of past) {
    if (index >= from && index < round) continue;
    link.remove();
    past.delete(index);
  }
  const strip = $(".sv-past");
  /** @type {HTMLElement | null} */
  let after = null;
  for (let index = round - 1; index >= from; index -= 1) {
    const link = past.get(index) || pastRound(index);
    if (!past.has(index)) strip.insertBefore(link, after);
    past.set(index, link);
    after = link;
  }
}

/** @param {Frame} frame @param {number} round */
export function showText(frame, round) {
  const from = Math.max(0, round - RECENT);
  showPast(from, round);
  $(".sv-prompt").replaceChildren(...(from ? ["… "] : given()));
  $(".sv-now").replaceChildren(...frame.chips.map((view) => chip(view)));
  oneStop($(".sv-past"), null);
}

// The newest line is in sight, and where a guess came from, if the text is longer than the strip.
export function scrollText() {
  const box = $(".sv-text");
  box.scrollTop = box.scrollHeight;
  /** @type {HTMLElement | null} */
  const source = box.querySelector(".sv-src");
  if (!source) return;
  const line = Number.parseFloat(getComputedStyle(box).lineHeight);
  const top = Math.floor(Math.max(0, source.offsetTop - box.offsetTop) / line) * line;
  box.scrollTop = Math.min(box.scrollTop, top);
}

// The prompt: raw text, or turn by turn what was typed and what the template wrote around it.
function given() {
  const { prompt, turns } = there(reel.run);
  return turns.length ? turns.map(turn) : prose(prompt);
}

// The whole text of the prompt; the roles are not part of it and are not copied with it.
export function givenText() {
  const { prompt, turns } = there(reel.run);
  return turns.length ? turns.flatMap(({ parts }) => parts.map(({ t }) => t)).join("") : prompt;
}

/** @type {Record<TurnBlock["parts"][number]["is"], (text: string) => HTMLElement>} */
const WRITTEN = {
  special,
  typed: (text) => el("span", "sv-typed", ...prose(text)),
  template(text) {
    const made = el("span", "sv-template", text);
    made.title = "Written by the model's chat template, not typed";
    return made;
  },
};

// The answer follows the last turn in its line.
/** @param {TurnBlock} view @param {number} place @param {TurnBlock[]} all */
function turn(view, place, all) {
  const made = el("span", "sv-turn", ...view.parts.map((part) => WRITTEN[part.is](part.t)));
  if (place === all.length - 1) made.classList.add("sv-turn-last");
  if (view.role) made.dataset.role = view.role;
  return made;
}

// Text as it is, but blank lines take no room: they are there, and not shown.
/** @param {string} text */
export function prose(text) {
  return text
    .split(/(?<=\n)(\s*\n)/)
    .map((each, index) => (index % 2 ? el("span", "sv-blank", each) : each));
}

export function clearText() {
  past.clear();
  for (const name of [".sv-prompt", ".sv-past", ".sv-now"]) $(name).replaceChildren();
}
