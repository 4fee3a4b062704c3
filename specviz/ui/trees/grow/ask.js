// What the growing tree asks the server, which alone grows trees.

import { Question } from "../../shared/ask.js";
import { show } from "./grow.js";
import { tell } from "./say.js";
import { state } from "./state.js";

/** @import { Answer } from "./data.js" */

const SILENT = "The server does not answer. What is shown is older than the settings.";
/** @type {Question<Answer>} */
export const question = new Question(
  "grow",
  () => state,
  (answer) => show(answer),
  () => tell(SILENT),
);

export const ask = () => question.ask();
