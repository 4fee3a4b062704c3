// The sandbox's question to the server, where the rules are implemented.

import { Question } from "../../shared/question.js";
import { tell } from "./say.js";
import { ruleText, state } from "./state.js";

const SILENT = "The server does not answer, so the output shown does not match the bars.";
export const question = new Question("sv-sand-ask", () => tell(SILENT));

export const ask = () => question.ask();

/** The experiment as the server reads it. @param {object} [more] */
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
