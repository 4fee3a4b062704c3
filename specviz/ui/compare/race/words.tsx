// Number formats, marks and small signs that several parts of the race use.

import { Drawing } from "../../shared/view";

import type { Stroke } from "../../../figures/marks.py";
import type { Part } from "../../../compare/summary.py";

export const DASH = "–";
export type SignName = "same" | "apart" | "open" | "rough";
const SIGNS: Record<SignName, Stroke[]> = {
  same: [["M2 6.5 4.8 9.3 10.2 2.9", "sv-line"]],
  apart: [["M1.6 4.2h8.8M1.6 7.8h8.8M8.6 1.6 3.4 10.4", "sv-line"]],
  open: [["M2 6h8", "sv-line"]],
  rough: [["M6 1.2 11.2 10.8H.8zM6 4.8v2.6M6 8.9v.4", "sv-line"]],
};

export const Sign = (name: SignName) => Drawing("0 0 12 12", SIGNS[name], "sv-mark");
export const fixed = (value: number | null | undefined, digits: number) =>
  value === null || value === undefined ? DASH : value.toFixed(digits);
export const inSeconds = (seconds: number) => seconds.toFixed(2) + " s";

// Format 22000000 as "22 M", with the given units and two or three significant digits.
export function scaled(value: number | null | undefined, units: string[]) {
  if (value === null || value === undefined) return DASH;
  let at = 0,
    left = value;
  while (left >= 999.5 && at < units.length - 1) [left, at] = [left / 1000, at + 1];
  const whole = left >= 99.5 || at === 0;
  return ((whole ? left.toFixed(0) : left.toPrecision(2)) + " " + units[at]).trim();
}

// A part of a sentence, as in compare/summary.py: text, bold text, or a number with its colour.
export function SentencePart(part: Part) {
  if (typeof part === "string") return part;
  return part.b === undefined ? (
    <span class={"sv-n sv-n-" + part.as}>{part.n}</span>
  ) : (
    <b>{part.b}</b>
  );
}
