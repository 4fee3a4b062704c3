// Number formats, column names, and marks for equal and different.

import { drawing, el, meaning } from "../../shared/dom.js";

/** @import { Child, Stroke } from "../../shared/data.js" */
/** @import { LaneNumbers } from "./data.js" */

export const DASH = "–";
/** @type {Partial<Record<string, string>>} */
const GREYS = { rest: "sv-race-rest", prefill: "sv-race-prefill" };
// By column: its name, and the glossary's term for it.
/** @type {Record<string, [string, string]>} */
export const COLUMNS = {
  rounds: ["One round", "one round"],
  speedup: ["speed-up", "speed-up"],
  tokens_per_second: ["tokens/s", "tokens per second"],
  alpha: ["acceptance α", "alpha"],
  depths: ["by depth", "kept by depth"],
  flops_per_token: ["FLOPs/token", "FLOPs per token"],
  bytes: ["extra files", "extra files"],
  held_bytes: ["held in memory", "held in memory"],
};
/** @type {Record<string, [string, string]>} */
export const MORE = {
  brings: ["tokens", "brings"],
  costs: ["cost", "costs"],
  unit: ["plain token", "plain token"],
};
/** @typedef {"same" | "apart" | "open" | "rough"} Sign */
/** @type {Record<Sign, Stroke[]>} */
const SIGNS = {
  same: [["M2 6.5 4.8 9.3 10.2 2.9", "sv-line"]],
  apart: [["M1.6 4.2h8.8M1.6 7.8h8.8M8.6 1.6 3.4 10.4", "sv-line"]],
  open: [["M2 6h8", "sv-line"]],
  rough: [["M6 1.2 11.2 10.8H.8zM6 4.8v2.6M6 8.9v.4", "sv-line"]],
};

/** @param {Sign} name */
export const sign = (name) => drawing("0 0 12 12", SIGNS[name], "sv-mark");
/** @param {[name: string, term: string]} column */
export const defined = ([, term]) => meaning(term);
/** @param {number | null | undefined} value @param {number} digits */
export const fixed = (value, digits) =>
  value === null || value === undefined ? DASH : value.toFixed(digits);
/** @param {number} seconds */
export const clocked = (seconds) => seconds.toFixed(2) + " s";
/** @param {number} number @param {string} thing */
export const many = (number, thing) => number + " " + thing + (number === 1 ? "" : "s");

// 22000000 as "22 M", with the given units and two or three significant digits.
/** @param {number | null | undefined} value @param {string[]} units */
export function scaled(value, units) {
  if (value === null || value === undefined) return DASH;
  let at = 0,
    left = value;
  while (left >= 999.5 && at < units.length - 1) [left, at] = [left / 1000, at + 1];
  const whole = left >= 99.5 || at === 0;
  return ((whole ? left.toFixed(0) : left.toPrecision(2)) + " " + units[at]).trim();
}

/** @param {number | null | undefined} bytes */
const sized = (bytes) => (bytes === 0 ? "none" : scaled(bytes, ["B", "kB", "MB", "GB", "TB"]));

/** @type {Record<string, (lane: LaneNumbers) => string>} */
export const SHOWN = {
  speedup: (lane) =>
    lane.noise ? "too noisy" : fixed(lane.speedup, 2) + (lane.speedup === null ? "" : " ×"),
  tokens_per_second: (lane) =>
    fixed(lane.tokens_per_second, Number(lane.tokens_per_second) < 10 ? 1 : 0),
  alpha: (lane) => fixed(lane.alpha, 2),
  flops_per_token: (lane) => scaled(lane.flops_per_token, ["", "k", "M", "G", "T", "P"]),
  bytes: (lane) => sized(lane.bytes),
  held_bytes: (lane) => sized(lane.held_bytes),
};

// A patch of a colour: q, p, or one of GREYS.
/** @param {string} name */
export function patch(name) {
  return el("i", "sv-race-patch " + (GREYS[name] || "sv-race-" + name));
}

/** @param {Child} sample @param {string} said */
export function keyed(sample, said, name = "") {
  return el("span", ("sv-race-key " + name).trim(), sample, said);
}
