// What the growing tree stands at: what is asked, and where the reader is in it.

import { there } from "../../shared/there.js";

/** @import { Answer, Shown, State } from "./data.js" */

/** @type {State} */
export const state = {
  place: "",
  kind: "dynamic",
  tree: { depth: 4, width: 3, budget: 10 },
  own: "",
  seed: 1,
  cold: false,
};

/** Where the reader is. at: the step; picked: the guess pointed at, -1 for none. */
export const view = {
  at: -1,
  picked: -1,
  /** @type {Shown} */
  shown: "all",
  zoom: 1,
  live: false,
  /** @type {Answer | null} */
  answer: null,
};

export const answer = () => there(view.answer);
export const step = () => answer().steps[view.at];

/** Whether it is known which guesses are in the tree. */
export const ranked = () => {
  const { steps } = answer();
  return (
    ["rerank", "mask", "verify"].includes(step().kind) ||
    steps.every((one) => one.kind !== "rerank")
  );
};

/** The guesses from the first one to this, the root left out. @param {number} node */
export function pathTo(node) {
  const path = [];
  for (let at = node; at > 0; at = answer().nodes[at].parent) path.unshift(at);
  return path;
}
