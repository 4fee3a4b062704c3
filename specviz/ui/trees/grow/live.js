// Draft after the visitor's own text: the page numbers the jobs, and the server runs each once.

import { Job } from "../../shared/job.js";
import { hand } from "../../shared/tabs.js";
import { h, render } from "../../shared/view.js";
import { addPlace } from "./controls.js";
import { $, look } from "./state.js";

/** @import { Line } from "./__init__.py" */

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
  take: receive,
});

/** @param {string} sentence @param {string} [numbers] */
function wait(sentence, numbers) {
  const counted = numbers && h("span", { class: "sv-numbers", "aria-hidden": "true" }, numbers);
  render([sentence, counted], $(".sv-grow-wait"));
}

/** Return the request in the form that the server expects. */
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

/** Function that shows a live position. @type {() => void} */
let ask = () => {};

/** @param {() => void} show */
export const onPosition = (show) => {
  ask = show;
};

/** @param {Line[]} lines */
function receive(lines) {
  for (const line of lines) {
    if (line.kind === "state") job.state(line);
    else if (line.kind === "error") look({ notice: line.sentence });
    else {
      /** @type {HTMLInputElement} */
      const prompt = $("#sv-grow-prompt");
      const title = "Live: " + prompt.value.slice(-40);
      addPlace(line.place, title);
      for (const part of ["sv-rank", "sv-judge"]) hand(part, { place: line.place, title });
      ask();
    }
  }
}
