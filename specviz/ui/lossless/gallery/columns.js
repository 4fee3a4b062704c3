// Columns of the output distribution, with the outline of p.

import { el, flat, percent, word } from "../../shared/dom.js";
import { whisker } from "../shared/whisker.js";

/** @import { Word } from "../../shared/data.js" */

/**
 * @param {Word[]} words
 * @param {number[]} out
 * @param {number[]} p
 * @param {[number, number][]} [intervals]
 */
export function columns(words, out, p, intervals = []) {
  const shown = p.map((_, at) => at);
  const most = Math.min(1, Math.max(0.2, 1.15 * Math.max(...p, ...out)));
  /** @param {number} share */
  const high = (share) => percent(Math.min(1, share / most));
  const made = shown.map((at) => {
    const [fill, outline] = [el("i", "sv-wild-fill"), el("i", "sv-sand-outline")];
    fill.style.height = high(out[at]);
    outline.style.height = high(p[at]);
    const number = el("b", "", out[at].toFixed(3));
    number.style.bottom = high(Math.max(out[at], p[at], intervals[at]?.[1] || 0));
    const parts = [fill, outline, whisker(intervals[at], high), number];
    return el("div", "sv-sand-column", ...parts);
  });
  const bars = el("div", "sv-sand-bars sv-wild-columns", ...made);
  bars.setAttribute("role", "img");
  const said = shown.map((at) => flat(words[at]) + " " + out[at].toFixed(3));
  bars.setAttribute("aria-label", "Output: " + said.join(", "));
  const names = el("div", "sv-sand-words", ...shown.map((at) => el("span", "", word(words[at]))));
  return [bars, names];
}
