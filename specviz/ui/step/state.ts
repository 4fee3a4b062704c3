// The state of the player: the run, the step on screen, and what is asked or supposed there. Its
// listeners draw it; the address is a function of it (links.ts).

import { Shared } from "../shared/store";

import type { DrawnFrame as Frame } from "../../figures/frame.py";
import type { BaselineLine, FinishedLine, Line, RoundLine, RunLine } from "./lines.py";
import type { Supposition } from "./what_if";
/** A round by its index, and one of its steps. */
export type Place = [round: number, step: number];
/** A step to open when it has arrived: a round by its number, a step by its id. */
export type Link = { round: number; step: string | null };

interface State {
  run: RunLine | null;
  rounds: RoundLine[];
  finished: FinishedLine | null;
  baseline: BaselineLine | null;
  /** All lines of the run, without states. */
  lines: Line[];
  at: { round: number; step: number };
  /** The step whose verdict is being predicted. */
  question: Place | null;
  /** What is shown instead of what happened. */
  whatIf: Supposition | null;
  /** Whose run is on screen; "file": opened by the visitor. */
  shown: "recorded" | "live" | "file" | "none";
  /** The step to open as soon as it has arrived. */
  link: Link | null;
  /** The run that is shown while a link's live run waits to be started. */
  offered: string;
}

const noRun = () => ({ run: null, rounds: [], finished: null, baseline: null, lines: [] });

export const player: State = {
  ...noRun(),
  at: { round: 0, step: 0 },
  question: null,
  whatIf: null,
  shown: "none",
  link: null,
  offered: "",
};

/** The newest change: one step forward, anything else at the step, autoplay, or the mode. */
export const changed = new Shared<"onward" | "place" | "playing" | "mode">("place");

/** The newest lines of a run, which the state has. */
export const received = new Shared<Line[]>([]);

export const frameAt = (round: number, step: number) => player.rounds[round].frames[step];

/** Return the frame that asks for the verdict of a step. */
export const questionAt = (round: number, step: number) => player.rounds[round].asks[step];

export const stepsOf = (round: number) => player.rounds[round].frames.length;

/** Return the names of a step. */
export const stepName = (round: number, step: number) => frameAt(round, step).step;

/** Return the step to which a link leads; null if its round has not arrived yet. */
export function placeOf(link: Link): Place | null {
  const round = player.rounds.findIndex(({ number }) => number === link.round);
  if (round < 0) return null;
  let found = 0;
  for (let step = 1; step < stepsOf(round); step += 1) {
    if (stepName(round, step).id === link.step) found = step;
  }
  return [round, found];
}

/** Return the step at which the first guess is rejected. */
export function firstRejection(): Place | null {
  for (let round = 0; round < player.rounds.length; round += 1) {
    for (let step = 0; step < stepsOf(round); step += 1)
      if (stepName(round, step).is === "rejected") return [round, step];
  }
  return null;
}

/**
 * A key of the step on screen, for elements that must be new at each step: moving an existing
 * element counts as a layout shift.
 */
export const momentKey = () => [player.at.round, player.at.step, player.question].join();

export function following(round: number, step: number): Place | null {
  if (round >= player.rounds.length) return null;
  if (step + 1 < stepsOf(round)) return [round, step + 1];
  return round + 1 < player.rounds.length ? [round + 1, 0] : null;
}

export function preceding(round: number, step: number): Place | null {
  if (step > 0) return [round, step - 1];
  return round > 0 ? [round - 1, stepsOf(round - 1) - 1] : null;
}

/** Ask for the verdict of a step before it is shown; the cursor does not move. */
export function pose(to: Place) {
  Object.assign(player, { question: to, whatIf: null });
  repaint();
}

/** Show a supposition instead of what happened; the cursor does not move. */
export function suppose(whatIf: Supposition) {
  player.whatIf = whatIf;
  repaint();
}

/** Show the current step again, after something else has changed. */
export const repaint = () => changed.set("place");

export function go(round: number, step: number) {
  if (!player.rounds.length) return;
  const index = Math.max(0, Math.min(round, player.rounds.length - 1));
  const to = { round: index, step: Math.max(0, Math.min(step, stepsOf(index) - 1)) };
  const onward = to.round === player.at.round && to.step === player.at.step + 1;
  Object.assign(player, { at: to, question: null, whatIf: null });
  changed.set(onward ? "onward" : "place");
}

/** Process new lines; a run's own first line begins another run. */
export function feed(lines: Line[]) {
  take(lines);
  received.set(lines);
}

/** Read something from another run, which is not shown. */
export function readRun<Value>(lines: Line[], read: () => Value): Value {
  const shown = { ...player };
  try {
    take(lines);
    return read();
  } finally {
    Object.assign(player, shown);
  }
}

function take(lines: Line[]) {
  for (const line of lines) {
    if (line.kind === "run") Object.assign(player, noRun(), { run: line });
    else if (line.kind === "round") player.rounds.push(line);
    else if (line.kind === "finished") player.finished = line;
    else if (line.kind === "baseline") player.baseline = line;
    if ("end" in line) end(line.end);
    if (line.kind !== "state") player.lines.push(line);
  }
}

// Add the step after the last round's own steps; when the baseline has arrived, it has more
// content.
function end(card: Frame | undefined) {
  const frames = player.rounds.at(-1)?.frames;
  if (!card || !frames) return;
  if (frames.at(-1)?.step.kind === "end") frames.pop();
  frames.push(card);
}
