// Pass times: a recorded sweep, and one that is measured on this machine. The page numbers its
// sweeps; the server sends progress and results. `window.specviz.sweeps` has the functions for
// other sections.

import { Job } from "../../shared/job";
import { page } from "../../shared/page";
import { pictures } from "../../shared/picture";
import { Stage } from "../../shared/stage";
import { there } from "../../shared/there";
import { render, Sentence } from "../../shared/view";
import { notice } from "../shared/fields";
import { keepDrawn } from "../shared/figure";
import { Part } from "../shared/part";
import { SweepResult } from "./sweep_result";

import type { Start } from "../../shared/section";
import type { Config, Line, ProgressLine, SweepData } from "./__init__.py";

const stage: Stage<Config> = new Stage();
const { $ } = stage;
let on: SweepData | null = null; // the sweep that is shown
let part: Part;

const job: Job<Line> = new Job({
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
  turn(running) {
    if (running) say("alert", "");
    render(MeasureButton(running), $(".sv-sweep-do"));
    if (!running) showProgress(null);
  },
  wait: (sentence, numbers) => say("notice", sentence, numbers),
  end(sentence, told) {
    say("alert", told ? "" : sentence);
    say("notice", told ? sentence : "");
  },
  take: receive,
});

export function say(name: "notice" | "alert", sentence: string, numbers?: string) {
  const place = $(".sv-sweep-" + name);
  render(Sentence(sentence, numbers), place);
  place.hidden = !sentence;
}

// Start and stop are one button, so that it keeps the focus.
const MeasureButton = (running: boolean) => (
  <button
    type="button"
    class={running ? "sv-sweep-stop" : "sv-sweep-go"}
    onClick={() => (running ? job.stop() : press())}
  >
    {running ? "Stop" : "Measure this machine"}
  </button>
);

const press = () => there(document.getElementById(stage.config.name + "-go")).click();

function showProgress(progress: ProgressLine | null) {
  $(".sv-sweep-progress").hidden = !progress;
  const { done, of } = progress ?? { done: 0, of: null };
  const known = of ? { max: of, value: done } : {};
  render(
    [
      <progress class="sv-sweep-bar" aria-label="Measured so far" {...known} />,
      <span class="sv-sweep-done">{of ? done + " of " + of + " measurements" : "warming up"}</span>,
    ],
    $(".sv-sweep-progress"),
  );
}

function receive(lines: Line[]) {
  const sweep = lines.filter((line) => line.kind === "sweep").pop();
  const progress = lines.filter((line) => line.kind === "progress").pop();
  const state = lines.filter((line) => line.kind === "state").pop();
  const error = lines.filter((line) => line.kind === "error").pop();
  if (sweep) show(sweep);
  if (progress) showProgress(progress);
  if (state) job.state(state);
  if (!error) return;
  say("notice", "");
  say("alert", error.sentence);
}

export function show(sweep: SweepData) {
  on = sweep;
  const recorded = sweep.source === "recorded";
  $(".sv-sweep-badge").textContent = recorded ? "recorded" : "measured on this machine";
  $(".sv-sweep-badge").title = recorded
    ? "Measured earlier, on the machine named here."
    : "Measured now, on the machine that serves this page.";
  $(".sv-sweep").dataset.source = sweep.source;
  $(".sv-fold-answer").textContent = sweep.answer;
  $(".sv-sweep-body").hidden = false;
  draw();
}

/** The sweep on screen, for a picture. */
const about = () => ({
  file: "cost-this-machine",
  facts: [$(".sv-sweep-badge").textContent, on?.answer],
});

const PICTURES = (
  <div
    class="sv-sweep-pictures"
    ref={(place: HTMLElement | null) =>
      place?.append(pictures(about, [["passes", () => $(".sv-sweep-figure")]]))
    }
  />
);

function draw() {
  if (on && part.open) render(SweepResult(on, PICTURES), $(".sv-sweep-body"));
}

export const start: Start<Config> = (element, props, _watch, _trigger, config) => {
  stage.set(element, props, config);
  part = new Part($("[data-part]"), draw);
  part.redraw = draw;
  render(MeasureButton(false), $(".sv-sweep-do"));
  showProgress(null);
  const face = {
    ...job.verbs,
    get sweep() {
      return on;
    },
    get under() {
      return job.number;
    },
  };
  page("sweeps")[config.name] = face;
  job.resume();
  if (config.recorded) show(config.recorded);
  else say("notice", "There is no recorded sweep. Measure this machine to see one.");
  keepDrawn(element, draw, (sentence) => notice($(".sv-sweep-alert"), sentence));
};
