// What the roofline is asked, and what is said where no answer can be shown.

import { Question } from "../../shared/question.js";
import { $ } from "./stage.js";

const SILENT = "The server does not answer. What is shown is older than the choice.";
export const question = new Question("sv-roofline-ask", () => fault(SILENT));

export const ask = () => question.ask();

/** @param {string} sentence */
export function fault(sentence) {
  const wrong = $(".sv-roofline-wrong");
  wrong.hidden = !sentence;
  wrong.textContent = sentence;
}
