// An output distribution as columns, with the outline of p, and the words below.

import { flat, percent } from "../../shared/dom.js";
import { classes, h, Token } from "../../shared/view.js";

/** @import { Word } from "../../../frames/scene.py" */

/**
 * @typedef {object} Columns
 * @property {Word[]} words
 * @property {number[]} p
 * @property {[kind: string, shares: number[]][]} parts The parts of the columns, the lowest first; by word.
 * @property {[low: number, high: number][]} [intervals] By word, of the sum of the parts.
 * @property {number} [scale] The probability of a full column.
 * @property {number} [digits]
 * @property {number} [tolerance] A larger difference from p is marked.
 * @property {string} [name] Its class.
 */

const LOWEST = 0.2; // minimum probability of a full column
const ROOM = 1.15; // space for numbers above the tallest column
const INSIDE = 0.2; // space, as a share of a full column, in which a number fits below the outline

/** Return the style of the grid, which has as many columns as words. @param {unknown[]} words */
export const gridStyle = (words) => ({ "--sv-sand-many": String(words.length) });

/** @param {Word[]} words */
export const WordRow = (words, name = "") =>
  h(
    "div",
    { class: classes("sv-sand-words", name), style: gridStyle(words) },
    ...words.map((word) => h("span", null, Token(word))),
  );

/** @param {Columns} columns */
export function OutputColumns({ words, p, parts, intervals, digits = 3, tolerance = 1, ...look }) {
  const totals = p.map((_, at) => parts.reduce((sum, [, shares]) => sum + shares[at], 0));
  const { scale = Math.min(1, Math.max(LOWEST, ROOM * Math.max(...p, ...totals))) } = look;
  /** @param {number} share */
  const height = (share) => percent(Math.min(1, share / scale));
  /** @param {number} at */
  const column = (at) => {
    const filled = Math.max(totals[at], intervals?.[at]?.[1] ?? 0);
    const top = p[at] - filled > INSIDE * scale ? filled : Math.max(filled, p[at]);
    const off = Math.abs(totals[at] - p[at]) > tolerance;
    return h(
      "div",
      { class: classes("sv-sand-column", off && "sv-sand-off") },
      ...Stack(parts, at, height),
      h("i", { class: "sv-sand-outline", style: { height: height(p[at]) } }),
      intervals?.[at] && Whisker(intervals[at], height),
      h("b", { style: { bottom: height(top) } }, totals[at].toFixed(digits)),
    );
  };
  const spoken = words.map((word, at) => flat(word) + " " + totals[at].toFixed(3));
  return h(
    "div",
    {
      class: classes("sv-sand-bars", look.name),
      role: "img",
      "aria-label": "Output: " + spoken.join(", "),
      style: gridStyle(words),
    },
    ...p.map((_, at) => column(at)),
  );
}

/** @param {Columns["parts"]} parts @param {number} at @param {(share: number) => string} height */
function Stack(parts, at, height) {
  let below = 0;
  return parts.map(([kind, shares]) => {
    const style = { height: height(shares[at]), bottom: height(below) };
    below += shares[at];
    return h("i", { class: kind, style });
  });
}

/** A confidence interval. @param {[number, number]} interval @param {(share: number) => string} height */
const Whisker = ([low, high], height) =>
  h("i", {
    class: "sv-coins-whisker",
    style: { bottom: height(low), top: "calc(100% - " + height(high) + ")" },
  });
