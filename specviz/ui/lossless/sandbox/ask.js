// What the sandbox asks the server, which alone knows the rules.

import { Question } from "../../shared/question.js";
import { tell } from "./say.js";
import { ruleText, state } from "./state.js";

const SILENT = "The server does not answer. What comes out is older than the bars.";
export const question = new Question("sv-sand-ask", () => tell(SILENT));

export const ask = () => question.ask();

/** What is tried, as the server reads it. @param {object} [more] */
export const wish = (more) => {
  const { p, q, drawn, candidates } = state;
  return JSON.stringify({
    id: question.number,
    p,
    q,
    drawn,
    candidates,
    rule: ruleText(),
    ...more,
  });
};
