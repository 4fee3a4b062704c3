// Questions about the roofline, and the message shown when there is no answer.

import { Question } from "../../shared/ask.js";
import { $ } from "./stage.js";

/** @import { Answer } from "./data.js" */

const SILENT = "The server does not answer. The results shown belong to an earlier choice.";
/** @type {Question<Answer>} */
export const question = new Question("roofline", () => fault(SILENT));

export const ask = () => question.ask();

/** @param {string} sentence */
export function fault(sentence) {
  const wrong = $(".sv-roofline-wrong");
  wrong.hidden = !sentence;
  wrong.textContent = sentence;
}
