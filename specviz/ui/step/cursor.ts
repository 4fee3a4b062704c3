// The cursor: the step that is shown, moving it, and what the page is waiting for. The function set
// by `onMove` is called after every move.

import { recording, stepsOf } from "./recording";

import type { Supposition } from "./what_if";
/** A round by its index, and one of its steps. */
export type Place = [round: number, step: number];
/** A step to open when it has arrived: a round by its number, a step by its id. */
export type Link = { round: number; step: string | null };

export const now: {
  at: { round: number; step: number };
  question: Place | null;
  whatIf: Supposition | null;
  shown: "recorded" | "live" | "file" | "none";
  link: Link | null;
  offered: string;
} = {
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

let showMove: (onward: boolean) => void = () => {};

// Call `show` after every move; its argument says whether the move was one step forward.
export function onMove(show: (onward: boolean) => void) {
  showMove = show;
}

export function following(round: number, step: number): [number, number] | null {
  if (round >= recording.rounds.length) return null;
  if (step + 1 < stepsOf(round)) return [round, step + 1];
  return round + 1 < recording.rounds.length ? [round + 1, 0] : null;
}

export function preceding(round: number, step: number): [number, number] | null {
  if (step > 0) return [round, step - 1];
  return round > 0 ? [round - 1, stepsOf(round - 1) - 1] : null;
}

// Ask for the verdict of a step before it is shown; the cursor does not move.
export function pose(to: Place) {
  Object.assign(now, { question: to, whatIf: null });
  showMove(false);
}

/** Show a supposition instead of what happened; the cursor does not move. */
export function suppose(whatIf: Supposition) {
  now.whatIf = whatIf;
  showMove(false);
}

/** Show the current step again, after something else has changed. */
export const repaint = () => showMove(false);

export function go(round: number, step: number) {
  if (!recording.rounds.length) return;
  const index = Math.max(0, Math.min(round, recording.rounds.length - 1));
  const to = { round: index, step: Math.max(0, Math.min(step, stepsOf(index) - 1)) };
  const onward = to.round === now.at.round && to.step === now.at.step + 1;
  Object.assign(now, { at: to, question: null, whatIf: null });
  showMove(onward);
}
