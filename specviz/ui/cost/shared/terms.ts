// α and γ of the whole tab and where each comes from: one state that all sections read and set.

import { linked, touch } from "./address";

import type { Pair } from "../pair.py";

export type TermName = keyof Pair;
/** Where a number comes from: the default, the visitor, a link, a run or a source. */
export interface Origin {
  kind: "start" | "choice" | "link" | "run" | "server" | "published";
  said: string;
  /** Which run, or which source. */
  key?: string;
  /** The target that it was measured on. */
  on?: string;
  /** How many guesses a round has, including siblings in a tree. */
  guesses?: number | null;
  /** The roofline's name of the drafter; empty if it has none. */
  drafter?: string;
}

export const CHOICE: Origin = { kind: "choice", said: "your own values" };
const START: Origin = { kind: "start", said: "an example" };
const LINK: Origin = { kind: "link", said: "from the link you opened" };

export const terms: Record<TermName, number | null> & { from: Record<TermName, Origin> } = {
  alpha: null,
  gamma: null,
  from: { alpha: START, gamma: START },
};
const NAMES: TermName[] = ["alpha", "gamma"];
const heard: ((taken: boolean) => void)[] = [];
let begun = false;

// Set the initial values: those of the link, or `start`. The first section that starts calls this.
export function begin(start: Pair) {
  if (begun) return;
  begun = true;
  Object.assign(terms, start);
  for (const name of NAMES) {
    const given = linked(name);
    if (given === null) continue;
    terms[name] = given;
    terms.from[name] = LINK;
  }
}

// Call `listener` after every change. taken: the values came from a run or a source.
export const onTerms = (listener: (taken: boolean) => void) => heard.push(listener);

function tell(taken: boolean) {
  for (const listener of heard) listener(taken);
}

export function setTerms(
  values: Partial<Record<TermName, number | null>>,
  origin: Origin = CHOICE,
) {
  for (const name of NAMES) {
    const value = values[name];
    if (value === undefined) continue;
    terms[name] = value;
    terms.from[name] = origin;
  }
  touch();
  tell(origin !== CHOICE);
}

function number(value: number | null, fewest: number, most: number) {
  if (value === null || !Number.isFinite(value)) return "?";
  const [whole, decimals = ""] = String(Number(value.toFixed(most))).split(".");
  return decimals || fewest ? whole + "." + decimals.padEnd(fewest, "0") : whole;
}

// Return α and γ as they are shown; `told` gives them in one sentence with their origin.
export const shown = () => ({
  alpha: number(terms.alpha, 2, 3),
  gamma: number(terms.gamma, 0, 2),
});

export function told() {
  const { alpha, gamma } = shown();
  const { from } = terms;
  if (from.alpha.said === from.gamma.said)
    return `α = ${alpha}, γ = ${gamma} (${from.alpha.said}).`;
  return `α = ${alpha} (${from.alpha.said}), γ = ${gamma} (${from.gamma.said}).`;
}
