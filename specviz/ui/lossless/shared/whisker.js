// A thin line over a column: the confidence interval of its share.

import { el } from "../../shared/dom.js";

/** @param {[number, number] | undefined} interval @param {(share: number) => string} high */
export function whisker(interval, high) {
  if (!interval) return null;
  const made = el("i", "sv-coins-whisker");
  made.style.bottom = high(interval[0]);
  made.style.top = "calc(100% - " + high(interval[1]) + ")";
  return made;
}
