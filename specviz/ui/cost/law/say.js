// Sentences on the page: a notice, and how a number stands in one.

import { $ } from "./stage.js";

// A number keeps its sign of times on its own line.
/** @param {string} sentence */
export const bound = (sentence) => sentence.replaceAll(" ×", "\u00a0×");

/** @param {string} sentence */
export function tell(sentence) {
  $(".sv-law-notice").textContent = sentence;
  $(".sv-law-notice").hidden = !sentence;
}
