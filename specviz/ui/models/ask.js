// Questions for the list, and the message when there is no answer.

import { Question } from "../shared/ask.js";
import { $ } from "./stage.js";

/** @import { Answer } from "./data.js" */

const SILENT = "The server does not answer. This list may be out of date.";

/** @param {string} sentence */
export function alarm(sentence) {
  const place = $(".sv-models-alert");
  place.textContent = sentence;
  place.hidden = !sentence;
}

/** @type {Question<Answer>} */
export const question = new Question("models", () => alarm(SILENT));
