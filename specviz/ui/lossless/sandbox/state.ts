// The sandbox's experiment: two distributions, how guesses are chosen, and the rule.

import { Stage } from "../../shared/stage";
import { required } from "../../shared/required";
import { moved } from "../../shared/probability_bars";

import type { DistributionName } from "../../shared/distribution_grid";
import type { Word } from "../../../frames/scene.py";
import type { Config, Preset } from "./__init__.py";
import type { DrawnName } from "./experiment.py";

export interface State {
  words: Word[];
  p: number[];
  q: number[];
  drawn: DrawnName;
  candidates: number;
  rule: string;
  parameters: number[];
  preset: string;
  /** The run that p and q come from; empty if they come from no run. */
  from: string;
}

export const stage: Stage<Config> = new Stage();
export const { $ } = stage;

export const state: State = {
  words: [],
  p: [],
  q: [],
  drawn: "sampled",
  candidates: 1,
  rule: "auto",
  parameters: [],
  preset: "",
  from: "",
};

export function move(name: DistributionName, at: number, value: number) {
  state[name] = moved(state[name], at, Math.round(value * 100) / 100);
  [state.preset, state.from] = ["", ""];
}

export function load({ name, words, p, q, rule }: Preset) {
  Object.assign(state, { words, p, q, preset: name, from: "" });
  if (!rule) return;
  Object.assign(state, { drawn: "sampled", candidates: 1 });
  choose(rule);
}

export function choose(name: string, parameters?: number[]) {
  state.rule = name;
  state.parameters = parameters || ruleOf(name).parameters.map((each) => each.default);
}

export const ruleOf = (name: string) =>
  required(stage.config.rules.find((row) => row.name === name));

/** Return the rule as it is sent: its name, and its parameters if it has any. */
export const ruleText = () =>
  state.parameters.length ? state.rule + ":" + state.parameters.join(",") : state.rule;

/** Return the experiment in the form that the server expects. */
export const request = () => {
  const { p, q, drawn, candidates } = state;
  return { p, q, drawn, candidates, rule: ruleText() };
};
