// The quantities of the formula, each with a slider, a number box, and its meaning.

import { meaning } from "../../shared/dom.js";
import { h } from "../../shared/view.js";
import { boxValue } from "../shared/fields.js";

/** @import { State } from "./__init__.py" */

/** @typedef {Exclude<keyof State, "map" | "widths" | "places">} Quantity */

/** @type {[name: Quantity, symbol: string, title: string, range: [least: number, most: number, step: number]][]} */
const FIELDS = [
  ["alpha", "α", "acceptance probability", [0, 1, 0.01]],
  ["gamma", "γ", "draft tokens in a chain", [0, 16, 1]],
  ["c", "c", "cost of a draft token", [0, 1, 0.01]],
  ["verify", "v", "cost of verification", [1, 3, 0.01]],
  ["c_hat", "ĉ", "arithmetic of a draft token", [0, 1, 0.01]],
];

/** @param {number} value @param {boolean} whole */
const short = (value, whole) =>
  whole || value.toFixed(3).slice(-1) !== "0" ? String(Number(value.toFixed(3))) : value.toFixed(2);

/**
 * @param {State} state
 * @param {Record<string, [least: number, most: number]>} limits
 * @param {string} wrong The quantity that the notice is about.
 * @param {(name: Quantity, value: number | null) => void} change
 */
export const QuantityFields = (state, limits, wrong, change) =>
  FIELDS.map(([name, symbol, title, [min, max, step]]) => {
    const value = state[name];
    const [id, box] = ["sv-law-" + name, "sv-law-box-" + name];
    /** @param {Event & { currentTarget: HTMLInputElement }} event */
    const onInput = ({ currentTarget: { value } }) =>
      change(name, value === "" ? null : Number(value));
    return h(
      "div",
      { class: "sv-law-field", key: name, "data-name": name },
      h("label", { for: id }, h("b", null, symbol), " " + title),
      h("input", {
        type: "number",
        id: box,
        step: "any",
        inputmode: "decimal",
        min: limits[name][0],
        max: limits[name][1],
        value: boxValue(box, value === null ? "" : short(value, step === 1)),
        "aria-label": symbol + " " + title + ", as a number",
        "aria-invalid": String(name === wrong),
        title: "You can also type a number outside the slider's range.",
        onInput,
      }),
      h("input", {
        type: "range",
        id,
        min,
        max,
        step,
        value: value === null ? undefined : String(value),
        "aria-describedby": "sv-law-about-" + name,
        onInput,
      }),
      h("p", { class: "sv-law-note", id: "sv-law-about-" + name }, meaning(name)),
    );
  });
