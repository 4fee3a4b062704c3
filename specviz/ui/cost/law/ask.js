// Questions about the formula.

import { Question } from "../../shared/ask.js";
import { note } from "../shared/address.js";
import { tell } from "./say.js";
import { stage } from "./stage.js";
import { run, state } from "./state.js";

/** @import { Answer, State } from "./data.js" */

const SILENT = "The server does not answer. The results shown belong to earlier slider values.";
/** @type {Question<Answer>} */
export const question = new Question("law", () => tell(SILENT));

/** @type {(keyof State)[]} */
const UNUSUAL = ["verify", "c_hat", "map", "widths", "places"]; // in a link only where they were changed

export function ask() {
  const start = stage.config.start;
  const changed = UNUSUAL.map((name) => [name, state[name] === start[name] ? null : state[name]]);
  note("law", { c: state.c, ...Object.fromEntries(changed) });
  question.ask();
}

export const request = () => ({ ...state, run: run() });
