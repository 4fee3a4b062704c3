// Number formats, marks and small signs that several parts of the race use.

import { meaning } from "../../shared/dom.js";
import { classes, Drawing, h } from "../../shared/view.js";

/** @import { ComponentChild } from "preact" */
/** @import { Stroke } from "../../../figures/marks.py" */
/** @import { Part } from "../../../compare/summary.py" */

export const DASH = "–";
/** @type {Partial<Record<string, string>>} */
const GREYS = { rest: "sv-race-rest", prefill: "sv-race-prefill" };
/** @typedef {"same" | "apart" | "open" | "rough"} SignName */
/** @type {Record<SignName, Stroke[]>} */
const SIGNS = {
  same: [["M2 6.5 4.8 9.3 10.2 2.9", "sv-line"]],
  apart: [["M1.6 4.2h8.8M1.6 7.8h8.8M8.6 1.6 3.4 10.4", "sv-line"]],
  open: [["M2 6h8", "sv-line"]],
  rough: [["M6 1.2 11.2 10.8H.8zM6 4.8v2.6M6 8.9v.4", "sv-line"]],
};

/** @param {SignName} name */
export const Sign = (name) => Drawing("0 0 12 12", SIGNS[name], "sv-mark");
/** @param {number | null | undefined} value @param {number} digits */
export const fixed = (value, digits) =>
  value === null || value === undefined ? DASH : value.toFixed(digits);
/** @param {number} seconds */
export const inSeconds = (seconds) => seconds.toFixed(2) + " s";
/** @param {number} number @param {string} thing */
export const plural = (number, thing) => number + " " + thing + (number === 1 ? "" : "s");

// Format 22000000 as "22 M", with the given units and two or three significant digits.
/** @param {number | null | undefined} value @param {string[]} units */
export function scaled(value, units) {
  if (value === null || value === undefined) return DASH;
  let at = 0,
    left = value;
  while (left >= 999.5 && at < units.length - 1) [left, at] = [left / 1000, at + 1];
  const whole = left >= 99.5 || at === 0;
  return ((whole ? left.toFixed(0) : left.toPrecision(2)) + " " + units[at]).trim();
}

// A small square in a colour: q, p, or one of GREYS.
/** @param {string} name @param {object} [attributes] */
export const Patch = (name, attributes) =>
  h("i", { class: "sv-race-patch " + (GREYS[name] || "sv-race-" + name), ...attributes });

/** @param {ComponentChild} sample @param {string} text @param {string} [state] The state that the mark shows. */
export const Key = (sample, text, state) =>
  h(
    "span",
    {
      class: classes("sv-race-key", state && "sv-race-k-" + state),
      title: state && meaning(state),
    },
    sample,
    text,
  );

// A part of a sentence, as in compare/summary.py: text, bold text, or a number with its colour.
/** @param {Part} part */
export function SentencePart(part) {
  if (typeof part === "string") return part;
  return part.b === undefined
    ? h("span", { class: "sv-race-n sv-race-n-" + part.as }, part.n)
    : h("b", null, part.b);
}
