// Downloading: one model at a time; its row shows progress and the result.

import { byId } from "../shared/dom.js";
import { Job } from "../shared/job.js";
import { Stage } from "../shared/stage.js";
import { there } from "../shared/there.js";
import { question } from "./ask.js";
import { paint, status } from "./show.js";
import { fetched } from "./state.js";

/** @import { Start } from "../shared/data.js" */
/** @import { Line } from "./data.js" */

/** @type {Stage<object>} */
const stage = new Stage();

/** @param {string} sentence */
function say(sentence) {
  fetched.sentence = sentence;
  paint();
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
  turn(under) {
    fetched.under = under;
    if (under) {
      fetched.done = fetched.of = 0;
      fetched.failed = false;
    }
    paint();
    if (!under) question.ask();
  },
  wait: say,
  end(sentence) {
    say(sentence);
    status(sentence);
  },
});

function receive() {
  for (const line of job.hear(stage.props.value)) {
    if (line.kind === "progress") [fetched.done, fetched.of] = [line.done, line.of];
    else if (line.kind === "step") fetched.sentence = line.sentence;
    else if (line.kind === "error") fail(line.sentence);
    else if (line.kind === "state") {
      job.state(line);
      if (line.state === "done") end();
    }
  }
  paint();
}

function end() {
  fetched.sentence = "";
  status(fetched.name + " is on this machine now.");
}

/** @param {string} sentence */
function fail(sentence) {
  fetched.sentence = sentence;
  fetched.failed = true;
  status(sentence);
}

/** @param {string} name */
export function fetchModel(name) {
  if (fetched.under) return;
  fetched.name = name;
  there(byId("sv-models-go")).click();
}

export const cancel = () => there(byId("sv-models-stop")).click();

/** @type {Start<object>} */
export function start(element, props, watch, _trigger, config) {
  stage.set(element, props, config);
  watch("value", receive);
}
