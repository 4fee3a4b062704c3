// The sandbox's state: two distributions, how guesses are chosen, and the rule.

/** @import { LawName, State } from "./data.js" */

/** @type {State} */
export const state = {
  words: [],
  p: [],
  q: [],
  drawn: "sampled",
  candidates: 1,
  rule: "auto",
  dials: [],
  preset: "",
  from: "",
};

/**
 * Set one word's probability; the others share the rest in their old proportions, or evenly if all
 * of them were 0.
 * @param {number[]} law
 * @param {number} at
 * @param {number} chance
 */
export function moved(law, at, chance) {
  const own = Math.min(Math.max(chance, 0), 1);
  const others = law.reduce((sum, value, index) => (index === at ? sum : sum + value), 0);
  return law.map((value, index) => {
    if (index === at) return own;
    return others > 0 ? (value / others) * (1 - own) : (1 - own) / (law.length - 1);
  });
}

/** @param {LawName} name @param {number} at @param {number} chance */
export function move(name, at, chance) {
  state[name] = moved(state[name], at, chance);
  [state.preset, state.from] = ["", ""];
}

/** The rule as it is sent: its name, and its parameters if it has any. */
export const ruleText = () =>
  state.dials.length ? state.rule + ":" + state.dials.join(",") : state.rule;
