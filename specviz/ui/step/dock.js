// The dock: first, back, play, the next step by name, last; and the rounds, this one opened.

import { el, mark, word } from "../shared/dom.js";
import { oneStop } from "../shared/stops.js";
import { following, go } from "./cursor.js";
import { waiting } from "./live.js";
import { reel, stepName } from "./reel.js";
import { reserve } from "./size.js";
import { $ } from "./stage.js";

export function showDock(round, step) {
  reserve(round);
  const near = roundsBeside();
  const after = following(round, step);
  const name = after ? nextName(after) : [waiting() ? "Waiting for more" : "End of the run"];
  $(".sv-next-name").replaceChildren(...name);
  $("[data-do=next]").disabled = !after;
  const start = Math.max(0, Math.min(round - near, reel.rounds.length - 2 * near - 1));
  const shown = reel.rounds.slice(start, start + 2 * near + 1);
  const made = shown.map((_, offset) => {
    const index = start + offset;
    return index === round ? openRound(index, step) : closedRound(index, round);
  });
  if (start > 0) made.unshift(el("span", "sv-far", "+" + start));
  const beyond = reel.rounds.length - start - shown.length;
  if (beyond > 0) made.push(el("span", "sv-far", "+" + beyond));
  $(".sv-rounds").replaceChildren(...made);
  const steps = $(".sv-steps");
  // No step is cut: the oldest go where there is no room for all.
  while (steps.scrollWidth > steps.clientWidth && steps.children.length > 1) {
    steps.firstChild.remove();
  }
  oneStop($(".sv-rounds"), steps.querySelector("[aria-current]"));
}

// Long numbers need room, and a narrow player has little.
function roundsBeside() {
  if ($(".sv").clientWidth < 900) return 2;
  if (!$(".sv").matches(".sv-one, .sv-tight")) return reel.rounds.length > 100 ? 6 : 11;
  return 4;
}

function nextName([round, step]) {
  if (step === 0) return ["Next: round " + reel.rounds[round].number];
  const coming = stepName(round, step);
  return coming.w && coming.kind === "judge"
    ? ["Next: " + coming.next, word(coming.w)]
    : ["Next: " + coming.next];
}

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
function openRound(index, step) {
  const made = el("div", "sv-seg sv-open", el("b", "", String(reel.rounds[index].number)));
  const steps = el("div", "sv-steps");
  for (let at = 0; at <= step; at += 1) {
    const name = stepName(index, at);
    if (name.kind === "propose" && at < step && stepName(index, at + 1).kind === "propose")
      continue;
    steps.append(stepButton(index, at, name, at === step));
  }
  made.append(steps);
  return made;
}

function stepButton(index, at, name, here) {
  const judged = name.kind === "judge";
  const made = el("button", "sv-step" + (here ? " sv-here" : ""));
  made.type = "button";
  if (judged) made.append(mark(name.is));
  if (judged && here) made.append(word(name.w));
  if (!judged) made.append(here ? name.label : name.kind === "propose" ? "propose" : name.label);
  made.setAttribute("aria-label", judged ? name.label + ", " + name.is : name.label);
  if (here) made.setAttribute("aria-current", "step");
  made.addEventListener("click", () => go(index, at));
  return made;
}
