// The cursor: the step that is shown, moving it, and what the page is waiting for. The function set
// by `onMove` is called after every move.

import { reel, stepsOf } from "./reel.js";

/** @import { Supposition } from "./what_if.js" */
/** @typedef {[round: number, step: number]} Place A round by its index, and one of its steps. */
/**
 * A step to open when it has arrived: a round by its number, a step by its id.
 * @typedef {{ round: number, step: string | null }} Link
 */

/**
 * @type {{
 *   at: { round: number, step: number },
 *   question: Place | null,
 *   whatIf: Supposition | null,
 *   shown: "recorded" | "live" | "file" | "none",
 *   link: Link | null,
 *   offered: string,
 * }}
 */
export const now = {
  at: { round: 0, step: 0 },
  question: null, // the [round, step] whose verdict is being predicted
  whatIf: null, // what is shown instead of what happened
  shown: "none", // "recorded", "live", "file" (opened by the visitor) or "none": whose run is on screen
  link: null, // the { round, step } to open as soon as it has arrived
  offered: "", // the run that is shown while a link's live run waits to be started
};

/**
 * A key of the step on screen, for elements that must be new at each step: moving an existing
 * element counts as a layout shift.
 */
export const momentKey = () => [now.at.round, now.at.step, now.question].join();

/** @type {(onward: boolean) => void} */
let showMove = () => {};

// Call `show` after every move; its argument says whether the move was one step forward.
/** @param {(onward: boolean) => void} show */
export function onMove(show) {
  showMove = show;
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

// Ask for the verdict of a step before it is shown; the cursor does not move.
/** @param {Place} to */
export function pose(to) {
  Object.assign(now, { question: to, whatIf: null });
  showMove(false);
}

/**
 * Show a supposition instead of what happened; the cursor does not move.
 * @param {Supposition} whatIf
 */
export function suppose(whatIf) {
  now.whatIf = whatIf;
  showMove(false);
}

/** Show the current step again, after something else has changed. */
export const repaint = () => showMove(false);

/** @param {number} round @param {number} step */
export function go(round, step) {
  if (!reel.rounds.length) return;
  const index = Math.max(0, Math.min(round, reel.rounds.length - 1));
  const to = { round: index, step: Math.max(0, Math.min(step, stepsOf(index) - 1)) };
  const onward = to.round === now.at.round && to.step === now.at.step + 1;
  Object.assign(now, { at: to, question: null, whatIf: null });
  showMove(onward);
}
