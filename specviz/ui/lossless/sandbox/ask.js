// The sandbox's question to the server, where the rules are implemented.

import { Question } from "../../shared/ask.js";
import { tell } from "./say.js";
import { ruleText, state } from "./state.js";

/** @import { Answer } from "./data.js" */

const SILENT = "The server does not answer, so the output shown does not match the bars.";
/** @type {Question<Answer>} */
export const question = new Question("sandbox", () => tell(SILENT));

export const ask = () => question.ask();

/** The experiment as the server reads it. */
export const request = () => {
  const { p, q, drawn, candidates } = state;
  return { p, q, drawn, candidates, rule: ruleText() };
};
