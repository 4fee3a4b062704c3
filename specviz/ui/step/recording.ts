// The run that is shown: it receives lines and returns frames.

import type { DrawnFrame as Frame } from "../../figures/charts.py";
import type { Place } from "./cursor";
import type { BaselineLine, FinishedLine, Line, RoundLine, RunLine } from "./lines.py";

export const recording: {
  run: RunLine | null;
  rounds: RoundLine[];
  finished: FinishedLine | null;
  baseline: BaselineLine | null;
  lines: Line[];
} = { run: null, rounds: [], finished: null, baseline: null, lines: [] };

export const frameAt = (round: number, step: number) => recording.rounds[round].frames[step];

/** Return the frame that asks for the verdict of a step. */
export const questionAt = (round: number, step: number) => recording.rounds[round].asks[step];

export const stepsOf = (round: number) => recording.rounds[round].frames.length;

/** Return the names of a step. */
export const stepName = (round: number, step: number) => frameAt(round, step).step;

/** Return the step at which the first guess is rejected. */
export function firstRejection(): Place | null {
  for (let round = 0; round < recording.rounds.length; round += 1) {
    for (let step = 0; step < stepsOf(round); step += 1)
      if (stepName(round, step).is === "rejected") return [round, step];
  }
  return null;
}

// Callbacks: `line` after each line was processed, `lines` after all, with their kinds.
let views: { line: (line: Line) => void; lines: (kinds: Line["kind"][]) => void } = {
  line() {},
  lines() {},
};

export function onLines(shows: typeof views) {
  views = shows;
}

/** Process new lines; a run's own first line begins another run. */
export function feed(lines: Line[]) {
  for (const line of lines) {
    take(line);
    views.line(line);
  }
  views.lines(lines.map((line) => line.kind));
}

// Add the step after the last round's own steps; when the baseline has arrived, it has more
// content.
function end(card: Frame | undefined) {
  const frames = recording.rounds.at(-1)?.frames;
  if (!card || !frames) return;
  if (frames.at(-1)?.step.kind === "end") frames.pop();
  frames.push(card);
}

function take(line: Line) {
  if (line.kind === "run") {
    Object.assign(recording, { run: line, rounds: [], finished: null, baseline: null, lines: [] });
  } else if (line.kind === "round") {
    recording.rounds.push(line);
  } else if (line.kind === "finished") {
    recording.finished = line;
    end(line.end);
  } else if (line.kind === "baseline") {
    recording.baseline = line;
    end(line.end);
  }
  if (line.kind !== "state") recording.lines.push(line);
}
