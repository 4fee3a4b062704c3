// Repeated runs of one prompt: the page starts the job, the server counts.

import { write } from "../../shared/dom.js";
import { Job } from "../../shared/job.js";
import { $ } from "./stage.js";

/** @import { Line } from "./data.js" */

/** @type {Job<Line>} */
export const job = new Job({
  kind: "tally",
  words: {
    asking: "Sending the request to the server.",
    dropping: "Stopping.",
    stopping: "Stopping after this pair of runs.",
    stopped: "Stopped. The runs so far are kept.",
    unbegun: "Stopped before it started.",
    untaken: "The server did not accept the request. Try again.",
    lost: "The connection to the server was lost.",
  },
  waits: { loading: "Loading the models.", drafting: "Running.", done: "" },
  turn(under) {
    $("[data-do=go]").hidden = under;
    $("[data-do=stop]").hidden = !under;
    $(".sv-proof-bar").hidden = !under;
    if (under) counted("");
    else count("");
  },
  wait: (sentence, numbers) => write($(".sv-proof-count"), sentence, numbers),
  end: (sentence) => counted(sentence + " " + $(".sv-proof-counted").textContent),
});

/** @param {string} sentence */
const count = (sentence) => {
  $(".sv-proof-count").textContent = sentence;
};
/** @param {string} sentence */
const counted = (sentence) => {
  $(".sv-proof-counted").textContent = sentence;
};

/** @param {string | null} text */
export function receive(text) {
  for (const line of job.hear(text)) {
    if (line.kind === "state") job.state(line);
    else if (line.kind === "error") counted(line.sentence);
    else {
      /** @type {HTMLProgressElement} */
      const bar = $(".sv-proof-bar");
      [bar.max, bar.value] = [line.of, line.done];
      count(line.done + " of " + line.of + " pairs of runs");
      if (line.said) counted(line.said);
    }
  }
}
