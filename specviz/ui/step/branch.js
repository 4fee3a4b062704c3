// A branch: the run on screen made once more with coins set by hand, and the way back from it.

import { byId } from "../shared/dom.js";
import { there } from "../shared/there.js";
import { answerButton } from "./caption.js";
import { job, notice } from "./live.js";
import { now } from "./now.js";
import { pause } from "./play.js";
import { feed, reel, stepName } from "./reel.js";
import { $ } from "./stage.js";

/** @import { RoundLine } from "./data.js" */

/**
 * The run that was branched from.
 * @type {{ text: string, round: number, step: string, rounds: RoundLine[] } | null}
 */
let origin = null;

// Asks the server for the run on screen once more, from its prompt on, with the supposed coins.
export function branch() {
  if (job.number)
    return notice("Another run is still in progress. Stop it, or wait until it ends.");
  const { round, step } = now.at;
  origin = {
    text: reel.text,
    round: reel.rounds[round].number,
    step: stepName(round, step).id,
    rounds: reel.rounds,
  };
  const first = Object.keys(there(now.supposed))[0].split(" ");
  now.link = { round: origin.round, step: "judge-" + first[2] };
  there(byId("sv-branch")).click();
  return undefined;
}

// The request for a branch, as JSON: the run on screen, and coins up to this round.
export function wish() {
  const { asked: prompt, names, settings } = there(reel.run);
  const number = reel.rounds[now.at.round].number;
  const before = Object.entries(settings.coins || {}).filter(
    ([name]) => Number(name.split(" ")[0]) <= number,
  );
  const coins = { ...Object.fromEntries(before), ...now.supposed };
  const [target, drafter] = names;
  return JSON.stringify({ prompt, target, drafter, settings: { ...settings, coins } });
}

// Says that a run is a branch, and leads back to the original run.
export function showFork() {
  const coins = Object.keys(reel.run?.settings.coins || {});
  const place = $(".sv-fork");
  place.hidden = !coins.length;
  if (!coins.length) origin = null;
  if (!coins.length) return;
  const rounds = [...new Set(coins.map((name) => Number(name.split(" ")[0])))];
  /** @type {(string | HTMLElement)[]} */
  const parts = [
    "A new run with ",
    coins.length === 1 ? "one coin" : coins.length + " coins",
    " set by hand in round " + rounds.join(", ") + ". ",
  ];
  if (origin && !sameBefore(rounds[0])) {
    parts.push(
      "Earlier rounds differ too: this machine computes slightly different probabilities than the one that made the first run. ",
    );
  }
  if (origin) parts.push(answerButton("Back to the original run", returnToOrigin));
  place.replaceChildren(...parts);
}

/** @param {number} number */
function sameBefore(number) {
  /** @param {RoundLine[]} rounds */
  const brought = (rounds) =>
    JSON.stringify(rounds.filter((told) => told.number < number).map((told) => told.brings));
  return brought(reel.rounds) === brought(there(origin).rounds);
}

function returnToOrigin() {
  const back = there(origin);
  origin = null;
  pause();
  job.wanted = 0; // should the branch still be running, it is not shown any more
  now.link = { round: back.round, step: back.step };
  reel.text = "";
  feed(back.text);
}
