// Sentences of the growing tree.

import { $ } from "./stage.js";

/** @param {string} sentence */
export function tell(sentence) {
  $(".sv-grow-notice").textContent = sentence;
  $(".sv-grow-notice").hidden = !sentence;
}
