// What the law is asked.

import { Question } from "../../shared/question.js";
import { tell } from "./say.js";
import { run, state } from "./state.js";

const SILENT = "The server does not answer. What is shown is older than the sliders.";
export const question = new Question("sv-law-ask", () => tell(SILENT));

export const ask = () => question.ask();

export const wish = () => JSON.stringify({ ...state, id: question.number, run: run() });
