// A button that starts a job, the job's progress, and a button that stops it. Its results are events
// of its component.

import { byId } from "./dom";
import { Job } from "./job";
import { required } from "./required";
import { render, Sentence } from "./view";

import type { StateLine } from "../stream.py";
import type { Start } from "./section";

interface Config {
  name: string;
  event: string;
  kind: string;
  label: string;
}
interface Progress {
  kind: "";
  done: number;
  of: number;
  sentence: string;
  result?: object;
}
type Line = Progress | StateLine | { kind: "error"; sentence: string };

export const start: Start<Config> = (element, _props, _watch, trigger, config) => {
  const { name, event, kind, label } = config;
  const place = required(element.querySelector(".sv-job"));
  const state = { runs: false, done: 0, of: 0, waiting: Sentence(""), end: "" };

  const Button = (does: "go" | "stop", title: string) => (
    <button
      type="button"
      key={does}
      class="sv-button"
      onClick={() => (does === "go" ? required(byId(name + "-go")).click() : job.stop())}
    >
      {title}
    </button>
  );

  function update(changes: Partial<typeof state>) {
    Object.assign(state, changes);
    const { runs, done, of, waiting, end } = state;
    const measured = of ? { max: of, value: done } : {};
    const bar = <progress key={of ? "measured" : "unknown"} aria-label={label} {...measured} />;
    const row = [
      runs ? Button("stop", "Stop") : Button("go", label),
      runs && bar,
      <span key="said" role="status">
        {runs ? waiting : end}
      </span>,
    ];
    render(row, place);
  }

  function take(line: Line) {
    if (line.kind === "state") job.state(line);
    else if (line.kind === "error") update({ end: line.sentence });
    else {
      const { done, of, sentence, result } = line as Progress;
      update({ done, of, waiting: job.stopping ? state.waiting : [sentence] });
      if (result) trigger(event, { value: result });
    }
  }

  const job: Job<Line> = new Job<Line>({
    kind,
    words: {
      asking: "Sending the request to the server.",
      dropping: "Stopping.",
      stopping: "Stopping after this pair of runs.",
      stopped: "Stopped. Everything measured so far is kept.",
      unbegun: "Stopped before it started.",
      untaken: "The server did not accept the request. Try again.",
      lost: "The connection to the server was lost. What was received is kept.",
    },
    waits: { loading: "Loading the models.", drafting: "Running.", done: "" },
    turn: (runs) => update(runs ? { runs, done: 0, of: 0, end: "" } : { runs, waiting: [] }),
    wait: (sentence, numbers) => update({ waiting: Sentence(sentence, numbers) }),
    end: (end) => update({ end }),
    take: (lines) => lines.forEach(take),
  });
  job.resume();
  update({});
  return { ...job.verbs, take };
};
