// The offer to repeat a live run whose times a busy machine has spoilt.

import { byId } from "../shared/dom";
import { required } from "../shared/required";
import { render } from "../shared/view";
import { AnswerButton } from "./caption";
import { frameAt, player } from "./state";
import { job, notice } from "./live";
import { pause } from "./playback";
import { $, stage } from "./stage";

/** Show the offer if the times of the run on screen are unreliable. */
export function showRepeat() {
  const offers = stage.config.served && player.shown === "live" && player.baseline?.unreliable;
  $(".sv-repeat").hidden = !offers;
  render(offers ? Offer() : null, $(".sv-repeat"));
}

const Offer = () => [
  "These times are unreliable: the machine was probably busy. ",
  AnswerButton("Repeat until stable", repeat),
  " runs it again, for at most a minute, until the medians of its times are plausible.",
];

function repeat() {
  if (job.number)
    return notice("Another run is still in progress. Stop it, or wait until it ends.");
  pause();
  const { round, step } = player.at;
  player.link = { round: player.rounds[round].number, step: frameAt(round, step).step.id };
  required(byId("sv-repeat-run")).click();
  return undefined;
}

/** Return the request for the run on screen, as JSON. */
export function sameRequest() {
  const { request: prompt, names, settings } = required(player.run);
  const [target, drafter] = names;
  return JSON.stringify({ prompt, target, drafter, settings });
}
