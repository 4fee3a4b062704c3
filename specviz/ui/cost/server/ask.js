// Questions about a server's statistics, and the message shown when there is no answer.

import { Question } from "../../shared/ask.js";
import { $ } from "./stage.js";

/** @import { Answer } from "./data.js" */

const SILENT =
  "The server of this page does not answer. The results shown belong to an earlier choice.";
/** @type {Question<Answer | { empty: true, problem?: undefined }>} */
export const question = new Question("server", () => fault(SILENT));

export const ask = () => question.ask();

/** @param {string} sentence */
export function fault(sentence) {
  const wrong = $(".sv-server-wrong");
  wrong.hidden = !sentence;
  wrong.textContent = sentence;
}
