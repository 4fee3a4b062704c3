// The run that is shown: lines in, frames out. A frame is a merge patch on its round's first.

import { newLines } from "../shared/job.js";

export const reel = { run: null, rounds: [], finished: null, baseline: null, text: "" };
let cached = { round: null, frames: [] };

export function merged(old, patch) {
  const made = { ...old };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete made[key];
    else if (typeof value === "object" && !Array.isArray(value)) {
      const before = made[key];
      const inside = before && typeof before === "object" && !Array.isArray(before);
      made[key] = merged(inside ? before : {}, value);
    } else made[key] = value;
  }
  return made;
}

export function frameAt(round, step) {
  const told = reel.rounds[round];
  if (cached.round !== told) cached = { round: told, frames: [] };
  if (!cached.frames[step]) {
    cached.frames[step] = step ? merged(told.first, told.then[step - 1]) : told.first;
  }
  return cached.frames[step];
}

export const stepsOf = (round) => reel.rounds[round].then.length + 1;

// What a step is called needs only its own line of the patch.
export function stepName(round, step) {
  const told = reel.rounds[round];
  return step ? merged(told.first.step, told.then[step - 1].step || {}) : told.first.step;
}

// Who shows what came: `line` hears each line once it is taken in, `lines` the kinds of all of them.
let hearer = { line: (_line) => {}, lines: (_kinds) => {} };

export function onNews(shows) {
  hearer = shows;
}

// New text of a run. It grows; text that does not go on from the last is another run.
export function feed(text) {
  const lines = newLines(text, reel.text);
  reel.text = text;
  for (const line of lines) {
    take(line);
    hearer.line(line);
  }
  hearer.lines(lines.map((line) => line.kind));
}

function take(line) {
  if (line.kind === "run") {
    Object.assign(reel, { run: line, rounds: [], finished: null, baseline: null });
    cached = { round: null, frames: [] };
  } else if (line.kind === "round") {
    reel.rounds.push(line);
  } else if (line.kind === "finished") {
    reel.finished = line;
  } else if (line.kind === "baseline") {
    reel.baseline = line;
  }
}
