// The run that is shown: it receives lines and returns frames. A frame is a merge patch of its
// round's first frame.

/** @import { DrawnFrame as Frame } from "../../figures/charts.py" */
/** @import { Place } from "./cursor.js" */
/** @import { BaselineLine, FinishedLine, Line, Patch, RoundLine, RunLine } from "./lines.py" */

/**
 * @type {{
 *   run: RunLine | null,
 *   rounds: RoundLine[],
 *   finished: FinishedLine | null,
 *   baseline: BaselineLine | null,
 *   lines: Line[],
 * }}
 */
export const reel = { run: null, rounds: [], finished: null, baseline: null, lines: [] };
/** @type {{ round: RoundLine | null, frames: Frame[] }} */
let cached = { round: null, frames: [] };

/**
 * @template {object} Old
 * @param {Old} old
 * @param {object} patch
 * @returns {Old}
 */
export function merged(old, patch) {
  return /** @type {Old} */ (patched(old, patch));
}

/** @param {object} old @param {object} patch */
function patched(old, patch) {
  /** @type {Record<string, unknown>} */
  const made = { ...old };
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

/** @param {number} round @param {number} step */
export function frameAt(round, step) {
  const line = reel.rounds[round];
  if (cached.round !== line) cached = { round: line, frames: [] };
  if (!cached.frames[step]) {
    cached.frames[step] = step ? merged(line.first, line.then[step - 1]) : line.first;
  }
  return cached.frames[step];
}

// Return the frame that asks for a verdict: the frame before it, with the guess in question
// highlighted.
/** @param {number} round @param {number} step */
export const questionAt = (round, step) =>
  merged(frameAt(round, step - 1), reel.rounds[round].asks[step]);

/** @param {number} round */
export const stepsOf = (round) => reel.rounds[round].then.length + 1;

// Return the names of a step, for which only its own part of the patch is needed.
/** @param {number} round @param {number} step */
export function stepName(round, step) {
  const line = reel.rounds[round];
  return step ? merged(line.first.step, line.then[step - 1].step || {}) : line.first.step;
}

/** Return the step at which the first guess is rejected. @returns {Place | null} */
export function firstRejection() {
  for (let round = 0; round < reel.rounds.length; round += 1) {
    for (let step = 0; step < stepsOf(round); step += 1)
      if (stepName(round, step).is === "rejected") return [round, step];
  }
  return null;
}

// Callbacks: `line` after each line was processed, `lines` after all, with their kinds.
/** @type {{ line: (line: Line) => void, lines: (kinds: Line["kind"][]) => void }} */
let views = { line() {}, lines() {} };

/** @param {typeof views} shows */
export function onLines(shows) {
  views = shows;
}

/** Process new lines; a run's own first line begins another run. @param {Line[]} lines */
export function feed(lines) {
  for (const line of lines) {
    take(line);
    views.line(line);
  }
  views.lines(lines.map((line) => line.kind));
}

// Add the step after the last round's own steps; when the baseline has arrived, it has more
// content.
/** @param {Patch | undefined} patch */
function end(patch) {
  const last = reel.rounds.at(-1);
  if (!patch || !last) return;
  const has =
    last.then.length > 0 && stepName(reel.rounds.length - 1, last.then.length).kind === "end";
  last.then.splice(last.then.length - (has ? 1 : 0), has ? 1 : 0, patch);
  cached = { round: null, frames: [] };
}

/** @param {Line} line */
function take(line) {
  if (line.kind === "run") {
    Object.assign(reel, { run: line, rounds: [], finished: null, baseline: null, lines: [] });
    cached = { round: null, frames: [] };
  } else if (line.kind === "round") {
    reel.rounds.push(line);
  } else if (line.kind === "finished") {
    reel.finished = line;
    end(line.end);
  } else if (line.kind === "baseline") {
    reel.baseline = line;
    end(line.end);
  }
  if (line.kind !== "state") reel.lines.push(line);
}
