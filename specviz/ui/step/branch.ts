// A branch: a new run of the prompt on screen, with random numbers (coins) set by hand, and the way
// back to the original run.

import { byId } from "../shared/dom";
import { required } from "../shared/required";
import { render } from "../shared/view";
import { AnswerButton } from "./caption";
import { job, notice } from "./live";
import { feed, player, stepName } from "./state";
import { pause } from "./playback";
import { $ } from "./stage";

import type { Line, RoundLine } from "./lines.py";

/** The run from which the branch was made. */
let origin: { lines: Line[]; round: number; step: string; rounds: RoundLine[] } | null = null;

/**
 * Request the run on screen again, from its prompt on, with the random numbers of the "what if".
 */
export function branch() {
  if (job.number)
    return notice("Another run is still in progress. Stop it, or wait until it ends.");
  const { round, step } = player.at;
  origin = {
    lines: player.lines,
    round: player.rounds[round].number,
    step: stepName(round, step).id,
    rounds: player.rounds,
  };
  const first = Object.keys(required(required(player.whatIf).coins))[0].split(" ");
  player.link = { round: origin.round, step: "judge-" + first[2] };
  required(byId("sv-branch")).click();
  return undefined;
}

/**
 * Return the request for a branch, as JSON: the run on screen, and its random numbers up to this
 * round.
 */
export function branchRequest() {
  const { request: prompt, names, settings } = required(player.run);
  const number = player.rounds[player.at.round].number;
  const before = Object.entries(settings.coins || {}).filter(
    ([name]) => Number(name.split(" ")[0]) <= number,
  );
  const coins = { ...Object.fromEntries(before), ...player.whatIf?.coins };
  const [target, drafter] = names;
  return JSON.stringify({ prompt, target, drafter, settings: { ...settings, coins } });
}

/** Show the notice that a run is a branch, with a link to the original run. */
export function showBranch() {
  const coins = Object.keys(player.run?.settings.coins || {});
  if (!coins.length) origin = null;
  $(".sv-fork").hidden = !coins.length;
  render(coins.length ? BranchNotice(coins) : null, $(".sv-fork"));
}

const OTHER_MACHINE =
  "Earlier rounds differ too: the probabilities that this machine computes differ slightly from those of the machine that made the original run. ";

/** @param coins Names of the coins set by hand. */
function BranchNotice(coins: string[]) {
  const rounds = [...new Set(coins.map((name) => Number(name.split(" ")[0])))];
  const count = coins.length === 1 ? "one coin" : coins.length + " coins";
  return [
    "A new run with " + count + " set by hand in round " + rounds.join(", ") + ". ",
    origin && !sameBefore(origin.rounds, rounds[0]) ? OTHER_MACHINE : null,
    origin ? AnswerButton("Back to the original run", returnToOrigin) : null,
  ];
}

/** Return whether the rounds before a number added the same tokens as in the original run. */
function sameBefore(rounds: RoundLine[], number: number) {
  const tokens = (all: RoundLine[]) =>
    JSON.stringify(all.filter((round) => round.number < number).map((round) => round.brings));
  return tokens(player.rounds) === tokens(rounds);
}

function returnToOrigin() {
  const back = required(origin);
  origin = null;
  pause();
  job.wanted = 0; // if the branch is still running, it is no longer shown
  player.link = { round: back.round, step: back.step };
  feed(back.lines);
}
