// Buttons, keys and autoplay, which move the cursor.

import {
  changed,
  following,
  frameAt,
  go,
  player,
  pose,
  preceding,
  stepName,
  stepsOf,
} from "./state";
import { mustAsk, reveal } from "./predict_first";
import { waiting } from "./live";
import { isSimple } from "./mode";
import { stage } from "./stage";

import type { Place } from "./state";

/** Milliseconds that autoplay stays at a step, by its kind. */
export const PACE = { propose: 450, score: 1000, judge: 1500, draw: 2000, commit: 1100, end: 1100 };
let timer = 0; // 0 if autoplay is off
let untilRejection = false;
let halted: typeof player.at | null = null; // where autoplay has ended by itself

// Move one step forward; return false at the end.
function advance(to = following(player.at.round, player.at.step)) {
  if (player.question) reveal();
  else if (to && mustAsk(to)) pose(to);
  else if (to) go(...to);
  return Boolean(to);
}

/** Return the last of a round's steps with guesses, from one of them; any other step as it is. */
function lastGuess(to: Place | null) {
  if (!to) return to;
  let [round, step] = to;
  while (isGuess(round, step) && step + 1 < stepsOf(round) && isGuess(round, step + 1)) step += 1;
  return [round, step] as Place;
}

const isGuess = (round: number, step: number) => stepName(round, step).kind === "propose";

// In the Simple mode, all guesses of a round are one step.
function goNext() {
  if (isSupposing()) return go(player.at.round, player.at.step);
  const to = following(player.at.round, player.at.step);
  advance(isSimple() ? lastGuess(to) : to);
  return undefined;
}

/** Return whether Simple shows a "what if", from which Next leads back to what happened. */
export const isSupposing = () => isSimple() && player.whatIf !== null;

function goBack() {
  const { round, step } = player.at;
  const from = isSimple() && isGuess(round, step) ? 0 : step;
  const to = player.question ? [round, step] : preceding(round, from);
  if (to) go(to[0], to[1]);
}

/** Play from here on; at the end of the run, from its beginning. */
function playOn() {
  if (player.rounds.length && !following(player.at.round, player.at.step) && !waiting()) go(0, 0);
  play(false);
}

const ACTIONS: Record<string, () => void> = {
  first: () => go(0, 0),
  last: () => go(player.rounds.length - 1, stepsOf(player.rounds.length - 1) - 1),
  next: goNext,
  back: goBack,
  play: () => (timer ? pause() : playOn()),
};
export const KEYS: Record<string, string> = {
  ArrowRight: "next",
  ArrowLeft: "back",
  PageDown: "next", // these two only while presenting: a clicker sends them
  PageUp: "back",
  Home: "first",
  End: "last",
  " ": "play",
};

const LATE = 1000; // ms in which a click may still be aimed at what was on screen before
let moved: { from: Pick<typeof player, "at" | "question">; time: number } | null = null;

/** Move without having been asked: for a moment, a click still means the step before. */
export function moveByItself(move: () => void) {
  const from = { at: { ...player.at }, question: player.question };
  move();
  moved = { from, time: performance.now() };
}

export function act(name: string) {
  if (name !== "play") pause();
  if (!player.rounds.length) return;
  const late = moved && performance.now() - moved.time < LATE;
  if (late && (name === "next" || name === "back")) Object.assign(player, moved?.from);
  moved = null;
  ACTIONS[name]();
}

// Start autoplay. Once, the page starts it by itself, unless another tab is open, and it then stops
// at the first rejection.
export function play(halts: boolean) {
  if (halts && !stage.element.offsetParent) return;
  untilRejection = halts;
  clearTimeout(timer);
  timer = setTimeout(tick, pace());
  changed.set("playing");
}

function pace() {
  if (!player.rounds.length) return 200;
  const { kind } = frameAt(player.at.round, player.at.step).step;
  // The picture of the pass takes longer to read.
  return PACE[kind] * (kind === "score" && isSimple() ? 5 : 1);
}

function tick() {
  let onward = false;
  moveByItself(() => {
    onward = advance();
  });
  if (player.question || (!onward && !waiting())) return pause();
  const rejected = frameAt(player.at.round, player.at.step).caption.is === "rejected";
  if (untilRejection && onward && rejected) {
    halted = player.at;
    return pause();
  }
  timer = setTimeout(tick, pace());
}

/** Return whether autoplay is running. */
export const isPlaying = () => timer !== 0;

/** Return whether autoplay has ended by itself at this step, the first rejection. */
export const isHalted = () => player.at === halted;

export function pause() {
  if (!timer) return;
  clearTimeout(timer);
  timer = 0;
  changed.set("playing");
}
