// What is asked of a server's numbers, and what is said where no answer can be shown.

import { Question } from "../../shared/question.js";
import { $ } from "./stage.js";

const SILENT = "The app does not answer. What is shown is older than the choice.";
export const question = new Question("sv-server-ask", () => fault(SILENT));

export const ask = () => question.ask();

/** @param {string} sentence */
export function fault(sentence) {
  const wrong = $(".sv-server-wrong");
  wrong.hidden = !sentence;
  wrong.textContent = sentence;
}
