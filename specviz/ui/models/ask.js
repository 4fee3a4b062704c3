// Questions for the list, and the message when there is no answer.

import { Question } from "../shared/question.js";
import { $ } from "./stage.js";

const SILENT = "The server does not answer. This list may be out of date.";

/** @param {string} sentence */
export function alarm(sentence) {
  const place = $(".sv-models-alert");
  place.textContent = sentence;
  place.hidden = !sentence;
}

export const question = new Question("sv-models-look", () => alarm(SILENT));
