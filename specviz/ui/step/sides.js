// Space on a coin's track: for the words "accept" and "reject" beside the pin, and for numbers.

import { el, percent } from "../shared/dom.js";
import { widthOf } from "./room.js";

/** @typedef {[from: number, to: number]} Stretch */

export const trackWidth = () => Math.max(widthOf("panel") - 71, 200);

/** The share of a bar's track that its number takes.
 * @param {string[]} texts */
export const numberRoom = (texts) =>
  (Math.max(...texts.map((text) => text.length)) * 9.2 + 10) / trackWidth();

/** @param {number} value @param {number} margin */
export const between = (value, margin) => Math.min(Math.max(value, margin), 1 - margin);

// The wider part of a stretch, where the pin cuts it.
/** @param {Stretch} stretch @param {number} u @param {number} pin @returns {Stretch} */
function widest([from, to], u, pin) {
  if (u <= from - pin || u >= to + pin) return [from, to];
  return u - pin - from > to - u - pin ? [from, u - pin] : [u + pin, to];
}

/** @param {"keep" | "reject"} name @param {string} text @param {Stretch} stretch */
function labelled(name, text, [from, to]) {
  if (to - from < (6 * 7.2) / trackWidth()) return [];
  const made = el("span", "sv-side sv-side-" + name, text);
  made.style.left = percent((from + to) / 2);
  return [made];
}

// The words on the coin's bar, each on its side of the threshold, in the wider free stretch.
/** @param {number} threshold @param {number} u */
export function sides(threshold, u) {
  const pin = 11 / trackWidth();
  const no = widest([threshold, 1], u, pin);
  const yes = widest([0, threshold], u, pin);
  return [...labelled("keep", "accept", yes), ...labelled("reject", "reject", no)];
}
