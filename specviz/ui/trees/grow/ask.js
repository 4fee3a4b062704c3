// What the growing tree asks the server, which alone grows trees.

import { Question } from "../../shared/question.js";
import { tell } from "./say.js";
import { state } from "./state.js";

const SILENT = "The server does not answer. What is shown is older than the settings.";
export const question = new Question("sv-grow-ask", () => tell(SILENT), 30000);

export const ask = () => question.ask();

export const wish = () => JSON.stringify({ id: question.number, ...state });
