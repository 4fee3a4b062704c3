// The steps of the growing tree: first, back, next, last; which guesses are shown, and the zoom.

import { StateKey } from "../../shared/draft_tree.js";
import { h, Icon, termAttributes } from "../../shared/view.js";
import { follow } from "./growing_tree.js";
import { answer, look, step, view } from "./state.js";

/** @import { Shown } from "./state.js" */

/** @type {[name: string, title: string, to: (at: number, last: number) => number][]} */
const MOVES = [
  ["first", "First step", () => 0],
  ["back", "Back", (at) => Math.max(0, at - 1)],
  ["next", "Next", (at, last) => (at === last ? 0 : at + 1)],
  ["last", "Last step", (_at, last) => last],
];
/** @type {[value: Shown, title: string][]} */
const SHOWN = [
  ["all", "All candidates"],
  ["kept", "Tree only"],
];
/** @type {[title: string, name: string, to: (zoom: number) => number][]} */
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
/** @type {[state: string, label: string][]} */
const KEYS = [
  ["reading", "being expanded"],
  ["frontier", "frontier: expanded next"],
  ["pool", "candidates: ranked"],
  ["kept", "kept"],
  ["dropped", "dropped"],
  ["accepted", "accepted"],
  ["rejected", "rejected"],
  ["unreached", "not reached"],
];

/** The step in words. */
export const StepCaption = () => [
  h("b", { class: "sv-grow-kindword" }, WORDS[step().kind]),
  " ",
  h("span", { class: "sv-grow-said" }, step().say),
];

export function StepDock() {
  const { steps } = answer();
  const last = steps.length - 1;
  const next = steps[view.at + 1];
  const title = next ? "Next: " + WORDS[next.kind].toLowerCase() : "Watch it grow";
  const buttons = MOVES.map(([name, words, to]) => {
    const label = name === "next" ? title : words;
    const over = name === "last" && view.at === last;
    return h(
      "button",
      {
        key: name,
        type: "button",
        "data-move": name,
        title: label,
        "aria-label": label,
        disabled: over || ((name === "first" || name === "back") && !view.at),
        onClick: () => {
          look({ at: to(view.at, last) });
          follow();
        },
      },
      Icon(name),
      name === "next" && h("span", { class: "sv-grow-next" }, title),
    );
  });
  const count = `step ${view.at + 1} of ${steps.length}`;
  return [...buttons, h("span", { class: "sv-grow-count" }, count)];
}

export const ShownSwitch = () =>
  SHOWN.map(([value, title]) =>
    h(
      "button",
      {
        key: value,
        type: "button",
        "data-shown": value,
        "aria-pressed": String(value === view.shown),
        onClick: () => {
          look({ shown: value });
          follow();
        },
      },
      title,
    ),
  );

export const ZoomButtons = () =>
  ZOOMS.map(([title, name, to]) =>
    h(
      "button",
      {
        key: name,
        type: "button",
        "aria-label": name,
        title: name,
        onClick: () => look({ zoom: to(view.zoom) }),
      },
      title,
    ),
  );

export const Legend = () =>
  KEYS.map(([state, label]) =>
    h("li", { key: state }, StateKey(state), h("span", termAttributes(state), label)),
  );
