// Measured times of the run, as the Simple mode shows them.

import { frameAt, player, stepName, stepsOf } from "./state";

import type { TokenState } from "../../frames/scene.py";

export const sum = (numbers: number[]) => numbers.reduce((a, b) => a + b, 0);

export function duration(seconds: number) {
  if (seconds >= 0.1) return seconds.toFixed(seconds < 10 ? 2 : 1) + " s";
  return (1000 * seconds).toFixed(seconds < 0.01 ? 1 : 0) + " ms";
}

/** Return the median pass of plain decoding after the prompt; null if it was not measured. */
export function medianPass() {
  const passes = [...(player.baseline?.seconds.slice(1) ?? [])].sort((a, b) => a - b);
  return passes.length ? passes[Math.floor(passes.length / 2)] : null;
}

/** Return how long all rounds before this one took. */
export const timeBefore = (round: number) =>
  sum(player.rounds.slice(0, round).map(({ seconds }) => sum(seconds)));

/** Return how long all rounds took. */
export const wholeTime = () => timeBefore(player.rounds.length);

/**
 * Return how much time had passed at a step: guesses share the drafting time, and the target's pass
 * is over once it has answered.
 */
export function timeAt(round: number, step: number) {
  const { seconds } = player.rounds[round];
  const [draft, target] = seconds;
  const { kind } = stepName(round, step);
  if (kind === "propose") {
    const steps = Array.from({ length: stepsOf(round) }, (_, at) => stepName(round, at).kind);
    const all = steps.filter((each) => each === "propose").length;
    return timeBefore(round) + (draft * (step + 1)) / all;
  }
  if (kind === "score" || kind === "judge") return timeBefore(round) + draft + target;
  return timeBefore(round) + sum(seconds);
}

/** Return how many words the finished rounds had given by a time. */
export function wordsAt(time: number) {
  let [at, words] = [0, 0];
  for (const { seconds, brings } of player.rounds) {
    at += sum(seconds);
    if (at > time * (1 + 1e-9)) break;
    words += brings.length;
  }
  return words;
}

const SURE: TokenState[] = ["accepted", "recovered", "bonus", "plain"];

/** Return how many tokens the text has at a step. */
export const tokensAt = ({ round, step }: typeof player.at) =>
  sum(player.rounds.slice(0, round).map(({ brings }) => brings.length)) +
  frameAt(round, step).chips.filter(({ is }) => SURE.includes(is)).length;

/** Return how many passes of plain decoding were over by a time. */
export function passesAt(time: number) {
  let [at, passes] = [0, 0];
  for (const seconds of player.baseline?.seconds ?? []) {
    at += seconds;
    if (at > time * (1 + 1e-9)) break;
    passes += 1;
  }
  return passes;
}

/** Return the speed-up as text; "" if it was not measured or its times cannot be trusted. */
export const speedUp = () => /([\d.]+) × plain$/.exec(player.baseline?.summary ?? "")?.[1] ?? "";
