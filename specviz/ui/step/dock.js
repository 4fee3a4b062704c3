// The dock: first, back, play, the next step by name, last; and the rounds, this one opened.

import { el, mark, word } from "../shared/dom.js";
import { there } from "../shared/there.js";
import { oneStop } from "../shared/stops.js";
import { following, go } from "./cursor.js";
import { waiting } from "./live.js";
import { now } from "./now.js";
import { reel, stepName } from "./reel.js";
import { widthOf } from "./room.js";
import { reserve } from "./size.js";
import { $ } from "./stage.js";

/** @import { Place, StepName } from "./data.js" */

/** @param {number} round @param {number} step */
export function showDock(round, step) {
  reserve(round);
  const near = roundsBeside();
  const after = following(round, step);
  $(".sv-next-name").replaceChildren(...nextName(after));
  /** @type {HTMLButtonElement} */
  const next = $("[data-do=next]");
  next.disabled = !after;
  const start = Math.max(0, Math.min(round - near, reel.rounds.length - 2 * near - 1));
  const shown = reel.rounds.slice(start, start + 2 * near + 1);
  /** @type {HTMLElement[]} */
  const made = shown.map((_, offset) => {
    const index = start + offset;
    return index === round ? openRound(index, step) : closedRound(index, round);
  });
  if (start > 0) made.unshift(el("span", "sv-far", "+" + start));
  const beyond = reel.rounds.length - start - shown.length;
  if (beyond > 0) made.push(el("span", "sv-far", "+" + beyond));
  $(".sv-rounds").replaceChildren(...made);
  oneStop($(".sv-rounds"), $(".sv-steps").querySelector("[aria-current]"));
}

// No step is cut: the oldest go where there is no room for all.
export function fitSteps() {
  const steps = $(".sv-steps");
  while (steps.scrollWidth > steps.clientWidth && steps.children.length > 1) {
    steps.children[0].remove();
  }
}

// Long numbers need room, and a narrow player has little.
function roundsBeside() {
  if (widthOf("player") < 900) return 2;
  if (!$(".sv").matches(".sv-one, .sv-tight")) return reel.rounds.length > 100 ? 6 : 11;
  return 4;
}

/** @param {Place | null} after */
function nextName(after) {
  if (now.question) return ["Show the verdict"];
  if (!after) return [waiting() ? "Waiting for more" : "End of the run"];
  const [round, step] = after;
  if (step === 0) return ["Next: round " + reel.rounds[round].number];
  const coming = stepName(round, step);
  return coming.w && coming.kind === "judge"
    ? ["Next: " + coming.next, word(coming.w)]
    : ["Next: " + coming.next];
}

/** @param {number} index @param {number} round */
function closedRound(index, round) {
  const made = el(
    "button",
    "sv-seg" + (index < round ? " sv-was" : ""),
    String(reel.rounds[index].number),
  );
  made.type = "button";
  made.setAttribute("aria-label", "Round " + reel.rounds[index].number);
  made.addEventListener("click", () => go(index, 0));
  return made;
}

// Only steps that have been taken are listed: how many are to come would tell the verdicts.
/** @param {number} index @param {number} step */
function openRound(index, step) {
  const made = el("div", "sv-seg sv-open", el("b", "", String(reel.rounds[index].number)));
  const steps = el("div", "sv-steps");
  for (let at = 0; at <= step; at += 1) {
    const name = stepName(index, at);
    const here = at === step && !now.question;
    if (name.kind === "propose" && at < step && stepName(index, at + 1).kind === "propose")
      continue;
    steps.append(stepButton(index, at, name, here));
  }
  if (now.question) steps.append(questionMark(stepName(...now.question)));
  made.append(steps);
  return made;
}

// The verdict that is asked for: its place is known, and nothing else.
/** @param {StepName} name */
function questionMark(name) {
  const made = el("span", "sv-step sv-here", "? ", word(there(name.w)));
  made.setAttribute("aria-current", "step");
  made.tabIndex = -1;
  return made;
}

/** @param {number} index @param {number} at @param {StepName} name @param {boolean} here */
function stepButton(index, at, name, here) {
  const judged = name.kind === "judge";
  const parts = judged
    ? [mark(name.is), here ? word(name.w) : null]
    : [here ? name.label : name.kind === "propose" ? "propose" : name.label];
  const kind = (here ? " sv-here" : "") + (judged ? " sv-judged" : "");
  const made = el("button", "sv-step" + kind, ...parts);
  made.type = "button";
  made.setAttribute("aria-label", judged ? name.label + ", " + name.is : name.label);
  if (here) made.setAttribute("aria-current", "step");
  made.addEventListener("click", () => go(index, at));
  return made;
}
