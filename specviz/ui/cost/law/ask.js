// What the law is asked, and its answers.

import { Question } from "../../shared/question.js";
import { state } from "./fields.js";
import { run } from "./runs.js";
import { show, tell } from "./show.js";
import { stage } from "./stage.js";

const SILENT = "The server does not answer. What is shown is older than the sliders.";
const question = new Question("sv-law-ask", () => tell(SILENT));

export const ask = () => question.ask();

export const wish = () => JSON.stringify({ ...state, id: question.number, run: run() });

export function receive() {
  const answer = stage.props.value && JSON.parse(stage.props.value);
  if (!answer || !question.answers(answer.id)) return;
  show(answer);
  question.next();
}
