// The sandbox's state in the page's URL: ?rules=PRESET,DRAWN,CANDIDATES,RULE, plus ?p=0.5,0.3,... and
// ?q=... if a bar was moved.

import { linkable, linkedText } from "../../shared/address.js";
import { stage } from "./stage.js";
import { ruleText, state } from "./state.js";

/** @import { Preset, State } from "./data.js" */

// Distributions taken from a run have other words; the run's own link leads to them.
function told() {
  const { preset, from, drawn, candidates } = state;
  return from ? "" : [preset, drawn, candidates, ruleText().replaceAll(",", "_")].join();
}

/** @param {"p" | "q"} name */
const law = (name) => () =>
  state.preset || state.from ? "" : state[name].map((chance) => +chance.toFixed(4)).join();

/** The state that the page's URL asks for; null if it names none that is valid.
 * @returns {Partial<State> | null} */
export function linked() {
  const [preset, drawn, many, ruled = ""] = linkedText("rules").split(",");
  const { presets, drawn: ways, rules, most } = stage.config;
  const [rule, dials] = ruled.split(":");
  const candidates = Number(many);
  const known =
    rules.some(({ name }) => name === rule) && ways.some(({ value }) => value === drawn);
  if (!known || !Number.isInteger(candidates) || candidates < 1 || candidates > most) return null;
  const found = presets.find(({ name }) => name === preset);
  const laws = found ? { ...found, preset: found.name } : own(presets[0]);
  const { words, p, q } = laws;
  const numbers = dials ? { dials: dials.split("_").map(Number) } : {};
  const way = /** @type {State["drawn"]} */ (drawn);
  return { words, p, q, preset: laws.preset, drawn: way, candidates, rule, ...numbers };
}

/** @param {Preset} usual */
function own(usual) {
  const [p, q] = ["p", "q"].map((name) => linkedText(name).split(",").map(Number));
  const whole = [p, q].every(
    (one) => one.length === usual.words.length && one.every((chance) => chance >= 0),
  );
  return whole ? { words: usual.words, p, q, preset: "" } : { ...usual, preset: usual.name };
}

export function keepLink() {
  const writes = [
    linkable("rules", told, stage.element),
    linkable("p", law("p"), stage.element),
    linkable("q", law("q"), stage.element),
  ];
  return () => {
    for (const write of writes) write();
  };
}
