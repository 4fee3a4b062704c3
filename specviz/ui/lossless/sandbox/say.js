// The sandbox's error message.

import { $ } from "./stage.js";

/** @param {string} sentence */
export function tell(sentence) {
  $(".sv-sand-notice").textContent = sentence;
  $(".sv-sand-notice").hidden = !sentence;
}
