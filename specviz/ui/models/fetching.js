// Downloads: one model at a time; its row shows the progress and the result.

import { Job } from "../shared/job.js";
import { download, question, show, state } from "./models_list.js";

/** @import { Line } from "./__init__.py" */

/** @param {string} sentence */
function announce(sentence) {
  state.status = sentence;
  show();
}

/** @type {Job<Line>} */
export const job = new Job({
  kind: "progress",
  words: {
    asking: "Asking the server to download it.",
    dropping: "Cancelling.",
    stopping: "Cancelling.",
    stopped: "Cancelled. The downloaded part is kept for the next attempt.",
    unbegun: "Cancelled before the download started.",
    untaken: "The server did not accept the request. Try again.",
    lost: "The connection to the server was lost.",
  },
  waits: { fetching: "Locating the files.", done: "" },
  turn(runs) {
    Object.assign(download, runs ? { runs, done: 0, of: 0, failed: false } : { runs });
    show();
    if (!runs) question.ask();
  },
  wait(sentence) {
    download.sentence = sentence;
    show();
  },
  end(sentence) {
    download.sentence = sentence;
    announce(sentence);
  },
  take: receive,
});

/** @param {Line[]} lines */
function receive(lines) {
  for (const line of lines) {
    if (line.kind === "progress") [download.done, download.of] = [line.done, line.of];
    else if (line.kind === "step") download.sentence = line.sentence;
    else if (line.kind === "error") fail(line.sentence);
    else if (line.kind === "state") {
      job.state(line);
      if (line.state === "done") end();
    }
  }
  show();
}

function end() {
  download.sentence = "";
  announce(download.name + " is on this machine now.");
}

/** @param {string} sentence */
function fail(sentence) {
  Object.assign(download, { sentence, failed: true });
  announce(sentence);
}
