// Asking what is here, and saying when nobody answers.

import { Question } from "../shared/question.js";
import { $ } from "./stage.js";

const SILENT = "The server does not answer. What is shown may be old.";

/** @param {string} sentence */
export function alarm(sentence) {
  const place = $(".sv-models-alert");
  place.textContent = sentence;
  place.hidden = !sentence;
}

export const question = new Question("sv-models-look", () => alarm(SILENT));
