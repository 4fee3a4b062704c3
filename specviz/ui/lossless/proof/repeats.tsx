// Repeated runs of one prompt: the page starts the job, and the server counts.

import { byId } from "../../shared/dom";
import { Job } from "../../shared/job";
import { Stage } from "../../shared/stage";
import { there } from "../../shared/there";
import { render, Sentence } from "../../shared/view";

import type { Config, Line } from "./__init__.py";

export const stage: Stage<Config> = new Stage();
const { $ } = stage;

/**
 * done, of: pairs of runs. waiting: what the visitor waits for. result: the result, or the error.
 */
const state = { runs: false, done: 0, of: 0, waiting: Sentence(""), result: "" };

export function showRepeats() {
  render(Repeats(), $(".sv-proof-repeats"));
  render(state.result, $(".sv-proof-counted"));
}

function update(changes: Partial<typeof state>) {
  Object.assign(state, changes);
  showRepeats();
}

function Repeats() {
  const { runs, done, of } = state;
  const title = "Run it " + stage.config.times + " times with and without a draft";
  return [
    Button("go", title, runs),
    Button("stop", "Stop", !runs),
    <progress
      class="sv-proof-bar"
      key={of ? "measured" : "unknown"}
      aria-label="Pairs of runs so far"
      hidden={!runs}
      {...(of ? { max: of, value: done } : {})}
    />,
    <span class="sv-proof-count">{state.waiting}</span>,
  ];
}

const Button = (name: "go" | "stop", title: string, hidden: boolean) => (
  <button
    type="button"
    class="sv-button"
    data-do={name}
    hidden={hidden}
    onClick={() => (name === "go" ? there(byId("sv-proof-go")).click() : job.stop())}
  >
    {title}
  </button>
);

export const job: Job<Line> = new Job({
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

export function takeLine(line: Line) {
  if (line.kind === "state") job.state(line);
  else if (line.kind === "error") update({ result: line.sentence });
  else {
    const { done, of, sentence: result = state.result } = line;
    update({ done, of, result, waiting: [done + " of " + of + " pairs of runs"] });
  }
}
