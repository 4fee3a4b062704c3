// The notice line, and non-breaking spaces in sentences.

import { $ } from "./stage.js";

// Keep a number and its × on one line.
/** @param {string} sentence */
export const bound = (sentence) => sentence.replaceAll(" ×", "\u00a0×");

/** @param {string} sentence */
export function tell(sentence) {
  $(".sv-law-notice").textContent = sentence;
  $(".sv-law-notice").hidden = !sentence;
}
