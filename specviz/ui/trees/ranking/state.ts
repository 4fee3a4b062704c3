// The state of the ranking lab.

import { Stage } from "../../shared/stage";

import type { Answer } from "./answer.py";
import type { Config } from "./__init__.py";

export const stage: Stage<Config> = new Stage();
export const { $ } = stage;

/** way: the ranking whose tree is shown; own: the visitor's live position. */
export const state = {
  place: "",
  way: "sum bfloat16",
  notice: "",
  own: null as [place: string, title: string] | null,
  answer: null as Answer | null,
};
