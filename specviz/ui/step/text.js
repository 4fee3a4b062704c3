// The text strip: what earlier rounds left, a link to each of them, and the chips of this round.

import { el, mark, meaning, running, word } from "../shared/dom.js";
import { go } from "./cursor.js";
import { reel, stepsOf } from "./reel.js";
import { $ } from "./stage.js";
import { pickNode } from "./whatif.js";

const RECENT = 120; // rounds; a longer text is cut at its start, so that a step stays quick
export const past = new Map();

function pastRound(index) {
  const told = reel.rounds[index];
  const link = el("span", "sv-done"); // no button element: it must break where lines do
  link.setAttribute("role", "button");
  link.tabIndex = 0;
  link.title = "Round " + told.number + ": back to where a token was decided";
  const back = () => go(index, stepsOf(index) - 1);
  link.addEventListener("click", back);
  link.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    back();
  });
  for (const [pieces, kind, step] of told.brings) {
    const spaced = pieces.length > 1 && pieces[0].g === "space"; // the underline is the word's
    if (spaced) link.append(" ");
    const made = el("span", "sv-h sv-" + kind, running(spaced ? pieces.slice(1) : pieces));
    made.addEventListener("click", (event) => {
      event.stopPropagation();
      go(index, step); // to where this very token was decided
    });
    if (kind === "recovered" || kind === "bonus") made.append(mark(kind));
    link.append(made);
  }
  return link;
}

// A guess of this round leads to its verdict, or asks what it would take to come to it.
export function chip(view, node = view.node) {
  const made = el(node ? "button" : "span", "sv-chip sv-" + view.is, word(view.w), mark(view.is));
  made.title = view.is + ": " + meaning(view.is);
  if (node) {
    made.type = "button";
    made.addEventListener("click", () => pickNode(Number(node)));
  }
  return made;
}

// Rounds from..round - 1 stand in the strip, each made once.
function showPast(from, round) {
  for (const [index, link] of past) {
    if (index >= from && index < round) continue;
    link.remove();
    past.delete(index);
  }
  const strip = $(".sv-past");
  for (let index = round - 1, after = null; index >= from; index -= 1) {
    if (!past.has(index)) {
      past.set(index, pastRound(index));
      strip.insertBefore(past.get(index), after);
    }
    after = past.get(index);
  }
}

export function showText(frame, round) {
  const from = Math.max(0, round - RECENT);
  showPast(from, round);
  $(".sv-prompt").textContent = from ? "… " : reel.run.prompt;
  $(".sv-now").replaceChildren(...frame.chips.map((view) => chip(view)));
  const box = $(".sv-strip");
  box.scrollTop = box.scrollHeight;
}

export function clearText() {
  past.clear();
  for (const name of [".sv-prompt", ".sv-past", ".sv-now"]) $(name).replaceChildren();
}
