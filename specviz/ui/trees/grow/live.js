// Draft on the visitor's own text: the page numbers the jobs, the server runs each once.

import { write } from "../../shared/dom.js";
import { Job } from "../../shared/job.js";
import { hand } from "../../shared/tabs.js";
import { ask } from "./ask.js";
import { addPlace } from "./controls.js";
import { tell } from "./say.js";
import { $ } from "./stage.js";
import { view } from "./state.js";

/** @import { Line } from "./data.js" */

/** @type {Job<Line>} */
export const job = new Job({
  kind: "position",
  words: {
    asking: "Asking the server.",
    dropping: "Stopping.",
    stopping: "Stopping.",
    stopped: "Stopped.",
    unbegun: "Stopped before it started.",
    untaken: "The server did not accept the request. Try again.",
    lost: "The connection to the server was lost.",
  },
  waits: { loading: "Loading the models.", drafting: "Drafting.", done: "" },
  turn(under) {
    $("[data-do=go]").hidden = under;
    $("[data-do=stop]").hidden = !under;
    if (!under) wait("");
  },
  wait,
  end: (sentence) => wait(sentence),
});

/** @param {string} sentence @param {string} [numbers] */
function wait(sentence, numbers) {
  write($(".sv-grow-wait"), sentence, numbers);
}

/** The request as the server reads it. */
export function wanted() {
  /** @type {HTMLInputElement} */
  const prompt = $("#sv-grow-prompt");
  /** @type {HTMLSelectElement} */
  const drafter = $("#sv-grow-drafter");
  /** @type {HTMLInputElement} */
  const skip = $("#sv-grow-skip");
  return JSON.stringify({
    prompt: prompt.value,
    drafter: drafter.value,
    skip: skip.value === "" ? null : Number(skip.value),
  });
}

/** @param {string | null} text */
export function receive(text) {
  for (const line of job.hear(text)) {
    if (line.kind === "state") job.state(line);
    else if (line.kind === "error") tell(line.sentence);
    else {
      /** @type {HTMLInputElement} */
      const prompt = $("#sv-grow-prompt");
      const title = "Live: " + prompt.value.slice(-40);
      addPlace(line.place, title);
      for (const part of ["sv-rank", "sv-judge"]) hand(part, { place: line.place, title });
      view.at = 0;
      tell("");
      ask();
    }
  }
}
