// The sandbox's experiment: two distributions, how guesses are chosen, and the rule.

import { Stage } from "../../shared/stage.js";
import { there } from "../../shared/there.js";

/** @import { Word } from "../../../frames/scene.py" */
/** @import { Config, DrawnName, Preset } from "./__init__.py" */

/** @typedef {"p" | "q"} DistributionName */
/**
 * @typedef {object} State
 * @property {Word[]} words
 * @property {number[]} p
 * @property {number[]} q
 * @property {DrawnName} drawn
 * @property {number} candidates
 * @property {string} rule
 * @property {number[]} parameters
 * @property {string} preset
 * @property {string} from The run that p and q come from; empty if they come from no run.
 */
/**
 * What other sections use of `window.specviz.sandbox`.
 * @typedef {{ request(): object, onAnswer(listener: () => void): void, state: State, last?: object }} Sandbox
 */

/** @type {Stage<Config>} */
export const stage = new Stage();
export const { $ } = stage;

/** @type {State} */
export const state = {
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

/**
 * Set one word's probability; the others share the rest in their old proportions, or evenly if all
 * of them were 0.
 * @param {number[]} probabilities
 * @param {number} at
 * @param {number} value
 */
export function moved(probabilities, at, value) {
  const own = Math.min(Math.max(value, 0), 1);
  const others = probabilities.reduce((sum, each, index) => (index === at ? sum : sum + each), 0);
  return probabilities.map((each, index) => {
    if (index === at) return own;
    return others > 0 ? (each / others) * (1 - own) : (1 - own) / (probabilities.length - 1);
  });
}

/** @param {DistributionName} name @param {number} at @param {number} value */
export function move(name, at, value) {
  state[name] = moved(state[name], at, Math.round(value * 100) / 100);
  [state.preset, state.from] = ["", ""];
}

/** @param {Preset} preset */
export function load({ name, words, p, q, rule }) {
  Object.assign(state, { words, p, q, preset: name, from: "" });
  if (!rule) return;
  Object.assign(state, { drawn: "sampled", candidates: 1 });
  choose(rule);
}

/** @param {string} name @param {number[]} [parameters] */
export function choose(name, parameters) {
  state.rule = name;
  state.parameters = parameters || ruleOf(name).parameters.map((each) => each.default);
}

/** @param {string} name */
export const ruleOf = (name) => there(stage.config.rules.find((row) => row.name === name));

/** Return the rule as it is sent: its name, and its parameters if it has any. */
export const ruleText = () =>
  state.parameters.length ? state.rule + ":" + state.parameters.join(",") : state.rule;

/** Return the experiment in the form that the server expects. */
export const request = () => {
  const { p, q, drawn, candidates } = state;
  return { p, q, drawn, candidates, rule: ruleText() };
};
