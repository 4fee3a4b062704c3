// The state of the growing tree: the question, and which part of the answer is shown.

import { Stage } from "../../shared/stage.js";
import { there } from "../../shared/there.js";

/** @import { Answer } from "./answer.py" */
/** @import { Config } from "./__init__.py" */

/** @typedef {"depth" | "width" | "budget"} Dial */
/** @typedef {keyof Answer["layouts"]} Shown */

/** @type {Stage<Config>} */
export const stage = new Stage();
export const { $ } = stage;

/** The question. own: the text of a shape; cold: temperature 0. */
export const state = {
  place: "",
  kind: "dynamic",
  tree: { depth: 4, width: 3, budget: 10 },
  own: "",
  seed: 1,
  cold: false,
};

/** at: the step; picked: the selected guess, -1 for none; zoom: 0 fits the width. */
export const view = {
  at: -1,
  picked: -1,
  /** @type {Shown} */
  shown: "all",
  zoom: 1,
  live: false,
  notice: "",
  /** The live position of the visitor. @type {[place: string, title: string] | null} */
  own: null,
  /** @type {Answer | null} */
  answer: null,
};

export const answer = () => there(view.answer);
export const step = () => answer().steps[view.at];

/** Return whether it is already known which guesses are in the tree. */
export const ranked = () => {
  const { steps } = answer();
  return (
    ["rerank", "mask", "verify"].includes(step().kind) ||
    steps.every((one) => one.kind !== "rerank")
  );
};

/** Return the guesses from the first one to this one, without the root. @param {number} node */
export function pathTo(node) {
  const path = [];
  for (let at = node; at > 0; at = answer().nodes[at].parent) path.unshift(at);
  return path;
}

/** @type {() => void} */
let draw = () => {};
/** Set the function that shows the state. @param {() => void} render */
export const onChange = (render) => {
  draw = render;
};

/** Change which part of the answer is shown. @param {Partial<typeof view>} change */
export function look(change) {
  Object.assign(view, change);
  draw();
}

/** @param {number} node */
export const pick = (node) => node !== view.picked && look({ picked: node });
