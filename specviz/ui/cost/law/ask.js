// Questions to the server: one at a time, and when its answer is here, the newest that came meanwhile.

import { state } from "./fields.js";
import { run } from "./runs.js";
import { show, tell } from "./show.js";
import { stage } from "./stage.js";

const PATIENCE = 10000; // milliseconds; then the next question may go
const SILENT = "The server does not answer. What is shown is older than the sliders.";
const asking = { number: 0, under: false, again: false, timer: 0 };

export const wish = () => JSON.stringify({ ...state, id: asking.number, run: run() });

export function ask() {
  if (asking.under) {
    asking.again = true;
    return;
  }
  const button = document.querySelector("#sv-law-ask");
  if (!button) return void setTimeout(ask, 50); // Gradio is not done with the page yet
  asking.number += 1;
  [asking.under, asking.again] = [true, false];
  asking.timer = setTimeout(silent, PATIENCE);
  button.click();
}

function silent() {
  asking.under = false;
  tell(SILENT);
  if (asking.again) ask();
}

export function receive() {
  if (!stage.props.value) return;
  const answer = JSON.parse(stage.props.value);
  if (answer.id !== asking.number) return;
  clearTimeout(asking.timer);
  asking.under = false;
  show(answer);
  if (asking.again) ask();
}
