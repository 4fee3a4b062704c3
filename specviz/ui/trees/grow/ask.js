// What the growing tree asks the server, which alone grows trees.

import { Question } from "../../shared/ask.js";
import { tell } from "./say.js";

/** @import { Answer } from "./data.js" */

const SILENT = "The server does not answer. What is shown is older than the settings.";
/** @type {Question<Answer>} */
export const question = new Question("grow", () => tell(SILENT));

export const ask = () => question.ask();
