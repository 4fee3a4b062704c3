// The sandbox's state in the page's URL: ?rules=PRESET,DRAWN,CANDIDATES,RULE, plus ?p=0.5,0.3,...
// and ?q=... if a bar was moved.

import { linkable, linkedText, noteOfLink } from "../../shared/address";
import { ruleText, stage, state } from "./state";

import type { Preset } from "./__init__.py";
import type { DistributionName } from "../../shared/distribution_grid";
import type { State } from "./state";

const NO_LINK = "It opens this tab, without the tokens of your run";

// Distributions taken from a run have other words, so they are not written here; the run has its
// own link.
function settingsText() {
  const { preset, from, drawn, candidates } = state;
  return from ? "" : [preset, drawn, candidates, ruleText().replaceAll(",", "_")].join();
}

const distributionText = (name: DistributionName) => () =>
  state.preset || state.from ? "" : state[name].map((value) => +value.toFixed(4)).join();

/** Return the state in the page's URL; null if there is no valid one. */
export function linkedState(): Partial<State> | null {
  const [preset, drawn, count, ruled = ""] = linkedText("rules").split(",");
  const { presets, drawn: ways, rules, most } = stage.config;
  const [rule, numbers] = ruled.split(":");
  const candidates = Number(count);
  const valid =
    rules.some(({ name }) => name === rule) && ways.some(({ value }) => value === drawn);
  if (!valid || !Number.isInteger(candidates) || candidates < 1 || candidates > most) return null;
  const found = presets.find(({ name }) => name === preset);
  const start = found ? { ...found, preset: found.name } : ownDistributions(presets[0]);
  const { words, p, q } = start;
  const parameters = numbers ? { parameters: numbers.split("_").map(Number) } : {};
  const way = drawn as State["drawn"];
  return { words, p, q, preset: start.preset, drawn: way, candidates, rule, ...parameters };
}

function ownDistributions(first: Preset) {
  const [p, q] = ["p", "q"].map((name) => linkedText(name).split(",").map(Number));
  const valid = [p, q].every(
    (one) => one.length === first.words.length && one.every((value) => value >= 0),
  );
  return valid ? { words: first.words, p, q, preset: "" } : { ...first, preset: first.name };
}

/** Keep the URL up to date; return the function to call after each change. */
export function keepLink() {
  noteOfLink(stage.element, () => (state.from ? NO_LINK : ""));
  const writers = [
    linkable("rules", settingsText, stage.element),
    linkable("p", distributionText("p"), stage.element),
    linkable("q", distributionText("q"), stage.element),
  ];
  return () => {
    for (const write of writers) write();
  };
}
