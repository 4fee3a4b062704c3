// α and γ of the whole tab and where each comes from: one state that all sections read and set.

import { linked, note, touch } from "./address.js";

/** @import { Pair } from "../terms/__init__.py" */

/** @typedef {keyof Pair} TermName */
/**
 * Where a number comes from: the default, the visitor, a link, a run or a source.
 * @typedef {object} Origin
 * @property {"start" | "choice" | "link" | "run" | "server" | "published"} kind
 * @property {string} said
 * @property {string} [key] Which run, or which source.
 * @property {string} [on] The target that it was measured on.
 * @property {number | null} [guesses] How many guesses a round has, including siblings in a tree.
 * @property {string} [drafter] The roofline's name of the drafter; empty if it has none.
 */

/** @type {Origin} */
export const CHOICE = { kind: "choice", said: "your own values" };
/** @type {Origin} */
const START = { kind: "start", said: "an example" };
/** @type {Origin} */
const LINK = { kind: "link", said: "from the link you opened" };

/** @type {Pair & { from: Record<TermName, Origin> }} */
export const terms = { alpha: null, gamma: null, from: { alpha: START, gamma: START } };
/** @type {TermName[]} */
const NAMES = ["alpha", "gamma"];
/** @type {((taken: boolean) => void)[]} */
const heard = [];
let begun = false;

// Set the initial values: those of the link, or `start`. The first section that starts calls this.
/** @param {Pair} start */
export function begin(start) {
  if (begun) return;
  begun = true;
  Object.assign(terms, start);
  for (const name of NAMES) {
    const given = linked(name);
    if (given === null) continue;
    terms[name] = given;
    terms.from[name] = LINK;
  }
  write();
}

// Call `listener` after every change. taken: the values came from a run or a source.
/** @param {(taken: boolean) => void} listener */
export const onTerms = (listener) => heard.push(listener);

/** @param {boolean} taken */
function tell(taken) {
  write();
  for (const listener of heard) listener(taken);
}

/** @param {Partial<Pair>} values @param {Origin} [origin] */
export function setTerms(values, origin = CHOICE) {
  for (const name of NAMES) {
    const value = values[name];
    if (value === undefined) continue;
    terms[name] = value;
    terms.from[name] = origin;
  }
  touch();
  tell(origin !== CHOICE);
}

// Keep the numbers of a link, and attribute them to the source named in the link.
/** @param {TermName} name @param {Origin} origin */
export function relabel(name, origin) {
  terms.from[name] = origin;
  tell(false);
}

function write() {
  const { alpha, gamma, from } = terms;
  const source = from.alpha.kind === "published" ? from.alpha.key : undefined;
  note("terms", { alpha, gamma, from: source ?? null });
}

/** @param {number | null} value @param {number} fewest @param {number} most */
function number(value, fewest, most) {
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
