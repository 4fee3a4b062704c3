// The steps of the growing tree: first, back, next, last; which guesses are shown, and the zoom.

import { el, icon, termed } from "../../shared/dom.js";
import { $, stage } from "./stage.js";
import { answer, step, view } from "./state.js";
import { drawTree, follow, showStep } from "./tree.js";

/** @import { Shown } from "./data.js" */

/** @type {[name: string, title: string, to: (at: number, last: number) => number][]} */
const MOVES = [
  ["first", "First step", () => 0],
  ["back", "Back", (at) => Math.max(0, at - 1)],
  ["next", "Next", (at, last) => Math.min(last, at + 1)],
  ["last", "Last step", (_at, last) => last],
];
/** @type {[value: Shown, title: string][]} */
const SHOWN = [
  ["all", "Whole pool"],
  ["kept", "Tree only"],
];
/** @type {[title: string, said: string, to: (zoom: number) => number][]} */
const ZOOMS = [
  ["−", "Smaller", (zoom) => Math.max(0.25, (zoom || 1) / 1.25)],
  ["+", "Larger", (zoom) => Math.min(3, (zoom || 1) * 1.25)],
  ["Fit", "Fit the width", () => 0],
];
const WORDS = {
  start: "Start",
  expand: "Expand",
  frontier: "Frontier",
  rerank: "Rerank",
  mask: "Mask",
  verify: "Verify",
};
/** @type {[name: string, said: string][]} */
const KEYS = [
  ["reading", "being expanded"],
  ["frontier", "frontier: expanded next"],
  ["pool", "pool: ranked"],
  ["kept", "kept"],
  ["dropped", "dropped"],
  ["accepted", "accepted"],
  ["rejected", "rejected"],
];

export function startSteps() {
  $(".sv-grow-dock").replaceChildren(
    ...MOVES.map(([name, title, to]) => {
      const made = el("button", "", icon(name));
      if (name === "next") made.append(el("span", "sv-grow-next"));
      made.type = "button";
      made.dataset.move = name;
      made.title = title;
      made.setAttribute("aria-label", title);
      made.addEventListener("click", () => {
        const last = answer().steps.length - 1;
        move(name === "next" && view.at === last ? 0 : to(view.at, last));
      });
      return made;
    }),
    el("span", "sv-grow-count"),
  );
  $(".sv-grow-switch").replaceChildren(
    ...SHOWN.map(([value, title]) => {
      const made = el("button", "", title);
      made.type = "button";
      made.dataset.shown = value;
      made.addEventListener("click", () => {
        view.shown = value;
        drawTree();
        showNow();
      });
      return made;
    }),
  );
  $(".sv-grow-zoom").replaceChildren(
    ...ZOOMS.map(([title, said, to]) => {
      const made = el("button", "", title);
      made.type = "button";
      made.setAttribute("aria-label", said);
      made.title = said;
      made.addEventListener("click", () => {
        view.zoom = to(view.zoom);
        drawTree();
      });
      return made;
    }),
  );
  $(".sv-grow-keys").replaceChildren(
    ...KEYS.map(([name, said]) => {
      const words = termed(el("span", "", said), name);
      return el("li", "", el("i", "sv-grow-key sv-grow-key-" + name), words);
    }),
  );
}

/** @param {number} to */
function move(to) {
  view.at = to;
  showStep();
  follow();
  showNow();
  for (const hear of heard) hear();
}

/** @type {Set<() => void>} */
const heard = new Set();

/** Call `hear` after every step. @param {() => void} hear */
export const onStep = (hear) => heard.add(hear);

/** Update the caption and the buttons. */
export function showNow() {
  const { steps } = answer();
  const { kind, say } = step();
  $(".sv-grow-kindword").textContent = WORDS[kind];
  $(".sv-grow-said").textContent = say;
  $(".sv-grow-count").textContent = `step ${view.at + 1} of ${steps.length}`;
  const next = steps[view.at + 1];
  $(".sv-grow-next").textContent = next
    ? "Next: " + WORDS[next.kind].toLowerCase()
    : "Watch it grow";
  for (const button of stage.all("[data-move]")) {
    const { move: name } = button.dataset;
    const over = name === "last" && view.at === steps.length - 1;
    button.toggleAttribute("disabled", over || ((name === "first" || name === "back") && !view.at));
  }
  for (const button of stage.all("[data-shown]"))
    button.setAttribute("aria-pressed", String(button.dataset.shown === view.shown));
}
