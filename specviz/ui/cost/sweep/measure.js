// Measuring: the page numbers its sweeps; the server sends progress and results.

import { write } from "../../shared/dom.js";
import { Job } from "../../shared/job.js";
import { say, show } from "./show.js";
import { $, stage } from "./stage.js";

/** @import { Line, Progress } from "./data.js" */

/** @type {Job<Line>} */
export const job = new Job({
  kind: "sweep",
  words: {
    asking: "Asking the server to measure.",
    dropping: "Stopping after the current pass.",
    stopping: "Stopping after the current pass.",
    stopped: "Stopped. Finished measurements are kept.",
    unbegun: "Stopped before the first measurement.",
    untaken: "The server did not accept the request. Try again.",
    lost: "The connection to the server was lost. Finished measurements are kept; measure again for the rest.",
  },
  waits: {
    loading: "Loading the model.",
    measuring: "Measuring. Other work on this machine would distort the times.",
    done: "",
  },
  turn(under) {
    if (under) say("alert", "");
    showRunning(under);
  },
  wait(sentence, numbers) {
    write($(".sv-sweep-notice"), sentence, numbers);
    $(".sv-sweep-notice").hidden = !sentence;
  },
  end(sentence, told) {
    say("alert", told ? "" : sentence);
    say("notice", told ? sentence : "");
  },
});

/** @param {boolean} is */
function showRunning(is) {
  const had = document.activeElement;
  const [go, halt] = [$(".sv-sweep-go"), $(".sv-sweep-stop")];
  go.hidden = is;
  halt.hidden = !is;
  if (had === go || had === halt) (is ? halt : go).focus();
  if (!is) $(".sv-sweep-progress").hidden = true;
}

export function receive() {
  const lines = job.hear(stage.props.value);
  const sweep = lines.filter((line) => line.kind === "sweep").pop();
  const progress = lines.filter((line) => line.kind === "progress").pop();
  const state = lines.filter((line) => line.kind === "state").pop();
  const error = lines.filter((line) => line.kind === "error").pop();
  if (sweep) show(sweep);
  if (progress) onProgress(progress);
  if (state) job.state(state);
  if (!error) return;
  say("notice", "");
  say("alert", error.sentence);
}

/** @param {Progress} line */
function onProgress({ done, of }) {
  /** @type {HTMLProgressElement} */
  const bar = $(".sv-sweep-bar");
  $(".sv-sweep-progress").hidden = false;
  if (of) [bar.max, bar.value] = [of, done];
  else bar.removeAttribute("value");
  $(".sv-sweep-done").textContent = of ? done + " of " + of + " measurements" : "warming up";
}
