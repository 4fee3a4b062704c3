// Repeated runs of one prompt: the page starts the job, and the server counts.

import { byId } from "../../shared/dom.js";
import { Job } from "../../shared/job.js";
import { Stage } from "../../shared/stage.js";
import { there } from "../../shared/there.js";
import { h, render, Sentence } from "../../shared/view.js";

/** @import { Config, Line } from "./__init__.py" */

/** @type {Stage<Config>} */
export const stage = new Stage();
const { $ } = stage;

/**
 * done, of: pairs of runs. waiting: what the visitor waits for. result: the result, or the error.
 */
const state = { runs: false, done: 0, of: 0, waiting: Sentence(""), result: "" };

export function showRepeats() {
  render(Repeats(), $(".sv-proof-repeats"));
  render(state.result, $(".sv-proof-counted"));
}

/** @param {Partial<typeof state>} changes */
function update(changes) {
  Object.assign(state, changes);
  showRepeats();
}

function Repeats() {
  const { runs, done, of } = state;
  const title = "Run it " + stage.config.times + " times with and without a draft";
  return [
    Button("go", title, runs),
    Button("stop", "Stop", !runs),
    h("progress", {
      class: "sv-proof-bar",
      key: of ? "measured" : "unknown",
      "aria-label": "Pairs of runs so far",
      hidden: !runs,
      ...(of ? { max: of, value: done } : {}),
    }),
    h("span", { class: "sv-proof-count" }, ...state.waiting),
  ];
}

/** @param {"go" | "stop"} name @param {string} title @param {boolean} hidden */
const Button = (name, title, hidden) =>
  h(
    "button",
    {
      type: "button",
      class: "sv-button",
      "data-do": name,
      hidden,
      onClick: () => (name === "go" ? there(byId("sv-proof-go")).click() : job.stop()),
    },
    title,
  );

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
  turn: (runs) => update(runs ? { runs, done: 0, of: 0, result: "" } : { runs, waiting: [] }),
  wait: (sentence, numbers) => update({ waiting: Sentence(sentence, numbers) }),
  end(sentence) {
    update({ result: sentence + " " + state.result });
    $(".sv-proof-counted").scrollIntoView({ block: "nearest" }); // it may be below the window
  },
  take: (lines) => lines.forEach(takeLine),
});

/** @param {Line} line */
export function takeLine(line) {
  if (line.kind === "state") job.state(line);
  else if (line.kind === "error") update({ result: line.sentence });
  else {
    const { done, of, sentence: result = state.result } = line;
    update({ done, of, result, waiting: [done + " of " + of + " pairs of runs"] });
  }
}
