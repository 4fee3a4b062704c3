// The run that is shown: it receives lines and returns frames. A frame is a merge patch of its
// round's first frame.

import type { DrawnFrame as Frame } from "../../figures/charts.py";
import type { Place } from "./cursor";
import type { BaselineLine, FinishedLine, Line, Patch, RoundLine, RunLine } from "./lines.py";

export const recording: {
  run: RunLine | null;
  rounds: RoundLine[];
  finished: FinishedLine | null;
  baseline: BaselineLine | null;
  lines: Line[];
} = { run: null, rounds: [], finished: null, baseline: null, lines: [] };
let cached: { round: RoundLine | null; frames: Frame[] } = { round: null, frames: [] };

export function merged<Old extends object>(old: Old, patch: object): Old {
  return patched(old, patch) as Old;
}

function patched(old: object, patch: object) {
  const made: Record<string, unknown> = { ...old };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete made[key];
    else if (typeof value === "object" && !Array.isArray(value)) {
      const before = made[key];
      const inside = before && typeof before === "object" && !Array.isArray(before);
      made[key] = patched(inside ? before : {}, value);
    } else made[key] = value;
  }
  return made;
}

export function frameAt(round: number, step: number) {
  const line = recording.rounds[round];
  if (cached.round !== line) cached = { round: line, frames: [] };
  if (!cached.frames[step]) {
    cached.frames[step] = step ? merged(line.first, line.then[step - 1]) : line.first;
  }
  return cached.frames[step];
}

// Return the frame that asks for a verdict: the frame before it, with the guess in question
// highlighted.
export const questionAt = (round: number, step: number) =>
  merged(frameAt(round, step - 1), recording.rounds[round].asks[step]);

export const stepsOf = (round: number) => recording.rounds[round].then.length + 1;

// Return the names of a step, for which only its own part of the patch is needed.
export function stepName(round: number, step: number) {
  const line = recording.rounds[round];
  return step ? merged(line.first.step, line.then[step - 1].step || {}) : line.first.step;
}

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
function end(patch: Patch | undefined) {
  const last = recording.rounds.at(-1);
  if (!patch || !last) return;
  const has =
    last.then.length > 0 && stepName(recording.rounds.length - 1, last.then.length).kind === "end";
  last.then.splice(last.then.length - (has ? 1 : 0), has ? 1 : 0, patch);
  cached = { round: null, frames: [] };
}

function take(line: Line) {
  if (line.kind === "run") {
    Object.assign(recording, { run: line, rounds: [], finished: null, baseline: null, lines: [] });
    cached = { round: null, frames: [] };
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
