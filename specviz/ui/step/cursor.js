// The cursor: where the reader is, how it moves, and what the page is waiting for. The painter is
// called after every move.

import { reel, stepsOf } from "./reel.js";

/** @import { Supposition } from "./what_if.js" */
/** @typedef {[round: number, step: number]} Place A round by its index, and one of its steps. */
/**
 * A step to open once it is here: a round by its number, a step by its id.
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
  whatIf: null, // what is shown in place of what happened
  shown: "none", // whose run is on screen: one recorded here, a live one, or one of a visitor's file
  link: null, // the { round, step } to open as soon as it is here
  offered: "", // the run that is shown while a link's live run waits to be started
};

/** The moment on screen, as a key of what is new at each: an element that is kept and moves counts as
 * a shift of the layout. */
export const momentKey = () => [now.at.round, now.at.step, now.question].join();

/** @type {(onward: boolean) => void} */
let showMove = () => {};

// Calls `show` after every move; it learns whether that was one step on.
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

// Asks for the verdict at a place before it is shown; the cursor stays where it is.
/** @param {Place} to */
export function pose(to) {
  Object.assign(now, { question: to, whatIf: null });
  showMove(false);
}

/** Shows a supposition in place of what happened; the cursor stays where it is.
 * @param {Supposition} whatIf */
export function suppose(whatIf) {
  now.whatIf = whatIf;
  showMove(false);
}

/** Shows the place on screen once more, after something else has changed. */
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
