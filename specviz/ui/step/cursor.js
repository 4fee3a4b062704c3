// The cursor: where the reader is, and how it moves. The painter is called after every move.

import { now } from "./now.js";
import { reel, stepsOf } from "./reel.js";

/** @import { Place } from "./data.js" */

/** @type {(onward: boolean) => void} */
let tell = () => {};

// Calls `show` after every move; it learns whether that was one step on.
/** @param {(onward: boolean) => void} show */
export function onMove(show) {
  tell = show;
}

/** @param {number} round @param {number} step @returns {[number, number] | null} */
export function following(round, step) {
  if (round >= reel.rounds.length) return null;
  if (step + 1 < stepsOf(round)) return [round, step + 1];
  return round + 1 < reel.rounds.length ? [round + 1, 0] : null;
}

/** @param {number} round @param {number} step @returns {[number, number] | null} */
export function preceding(round, step) {
  if (step > 0) return [round, step - 1];
  return round > 0 ? [round - 1, stepsOf(round - 1) - 1] : null;
}

// Asks for the verdict at a place before it is shown; the cursor stays where it is.
/** @param {Place} to */
export function pose(to) {
  now.question = to;
  tell(false);
}

/** @param {number} round @param {number} step */
export function go(round, step) {
  if (!reel.rounds.length) return;
  const index = Math.max(0, Math.min(round, reel.rounds.length - 1));
  const to = { round: index, step: Math.max(0, Math.min(step, stepsOf(index) - 1)) };
  const onward = to.round === now.at.round && to.step === now.at.step + 1;
  now.at = to;
  now.question = null;
  tell(onward);
}
