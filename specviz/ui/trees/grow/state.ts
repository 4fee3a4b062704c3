// The state of the growing tree: the question, and which part of the answer is shown.

import { Stage } from "../../shared/stage";
import { required } from "../../shared/required";

import type { Answer } from "./answer.py";
import type { Config } from "./__init__.py";

export type Dial = "depth" | "width" | "budget";
export type Shown = keyof Answer["layouts"];

export const stage: Stage<Config> = new Stage();
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
  shown: "all" as Shown,
  zoom: 1,
  live: false,
  notice: "",
  /** The live position of the visitor. */
  own: null as [place: string, title: string] | null,
  answer: null as Answer | null,
};

export const answer = () => required(view.answer);
export const step = () => answer().steps[view.at];

/** Return whether it is already known which guesses are in the tree. */
export const ranked = () => {
  const { steps } = answer();
  return (
    ["rerank", "mask", "verify"].includes(step().kind) ||
    steps.every((one) => one.kind !== "rerank")
  );
};

/** Return the guesses from the first one to this one, without the root. */
export function pathTo(node: number) {
  const path = [];
  for (let at = node; at > 0; at = answer().nodes[at].parent) path.unshift(at);
  return path;
}

let draw: () => void = () => {};
/** Set the function that shows the state. */
export const onChange = (render: () => void) => {
  draw = render;
};

/** Change which part of the answer is shown. */
export function look(change: Partial<typeof view>) {
  Object.assign(view, change);
  draw();
}

export const pick = (node: number) => node !== view.picked && look({ picked: node });
