// The state of the ranking lab.

import { Stage } from "../../shared/stage.js";

/** @import { Answer } from "./answer.py" */
/** @import { Config } from "./__init__.py" */

/** @type {Stage<Config>} */
export const stage = new Stage();
export const { $ } = stage;

/** way: the ranking whose tree is shown; own: the visitor's live position. */
export const state = {
  place: "",
  way: "sum bfloat16",
  notice: "",
  /** @type {[place: string, title: string] | null} */
  own: null,
  /** @type {Answer | null} */
  answer: null,
};
