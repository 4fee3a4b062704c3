// A button that starts a job and stops it, and the job's progress. Its results are events of its
// component, whose value "hidden" hides the button while there is no job.

import { byId } from "./dom";
import { Job } from "./job";
import { required } from "./required";
import { render, Sentence } from "./view";

import type { ErrorLine, Progress, StateLine } from "../stream.py";
import type { Start } from "./section";

interface Config {
  event: string;
  labels: [string, string];
}
type Line = Progress | StateLine | ErrorLine;

export const start: Start<Config> = (element, props, watch, trigger, config) => {
  const { name, event, labels } = config;
  const place = required(element.querySelector(".sv-job"));
  const state = { runs: false, done: 0, of: 0, waiting: Sentence(""), end: "" };

  // One button, so that it keeps the focus. The second click of a double click does not stop the job.
  function press({ detail }: MouseEvent) {
    if (!state.runs) required(byId(name + "-go")).click();
    else if (detail < 2) job.stop();
  }

  function update(changes: Partial<typeof state>) {
    Object.assign(state, changes);
    const { runs, done, of, waiting, end } = state;
    const measured = of ? { max: of, value: done } : {};
    const bar = <progress key={of ? "measured" : "unknown"} aria-label={labels[0]} {...measured} />;
    const row = [
      <button
        key="go"
        type="button"
        class="sv-button"
        hidden={!runs && props.value === "hidden"}
        onClick={press}
      >
        {labels[Number(runs)]}
      </button>,
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
      const { done, of, sentence, result, end = "" } = line;
      update({ done, of, end, waiting: job.stopping ? state.waiting : [sentence] });
      if (result) trigger(event, { value: result });
    }
  }

  const job: Job<Line> = new Job<Line>({
    kind: "progress",
    name,
    waits: {
      drafting: "Running.",
      done: "",
      measuring: "Measuring. Other work on this machine would distort the times.",
      fetching: "Locating the files.",
    },
    turn: (runs) => update(runs ? { runs, done: 0, of: 0, end: "" } : { runs, waiting: [] }),
    wait: (sentence, numbers) => update({ waiting: Sentence(sentence, numbers) }),
    end: (end) => update({ end }),
    take: (lines) => lines.forEach(take),
  });
  watch("value", () => update({}));
  job.resume();
  update({});
  return { ...job.verbs, take };
};
