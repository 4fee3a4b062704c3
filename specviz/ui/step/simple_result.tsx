// What a round has brought, and what each round of the run has: words for each pass of the big model.

import { RunningToken } from "../shared/view";
import { WhatNext } from "./end_card";
import { Key } from "./lanes";
import { widthOf } from "./room";
import { frameAt, player, stepsOf } from "./state";
import { duration, medianPass, sum } from "./simple_times";

import type { RoundLine } from "./lines.py";

/** The measured time of a round beside that of as many plain passes, each with the words that it gives. */
export function Result(round: number) {
  const { brings, seconds, number } = player.rounds[round];
  const guesses = Object.keys(frameAt(round, stepsOf(round) - 1).tree.nodes).length;
  const plain = medianPass();
  const alone = plain === null || number === 0 ? null : plain * brings.length;
  const longest = Math.max(sum(seconds), alone ?? 0);
  const narrow = widthOf("player") < 560;
  const wide = (time: number) => ({ "--share": (time / longest).toFixed(4) });
  return (
    <div class="sv-picture-main sv-result">
      <div class="sv-two-times">
        <p>
          <span>this round</span>
          <i class="sv-time-draft" style={wide(seconds[0])}>
            {narrow ? guesses : guesses === 1 ? "1 guess" : guesses + " guesses"}
          </i>
          <i style={wide(seconds[1])}>{brings.map(([w]) => RunningToken(w))}</i>
          <i class="sv-time-rest" style={wide(seconds[2])} />
          <b>{duration(sum(seconds))}</b>
        </p>
        {alone === null ? null : (
          <p>
            <span>one by one</span>
            {brings.map(([w], at) => (
              <i key={at} style={wide(plain ?? 0)}>
                {RunningToken(w)}
              </i>
            ))}
            <b>{duration(alone)}</b>
          </p>
        )}
      </div>
      <p class="sv-picture-keys">
        {seconds[0] ? Key("q", "guessing") : null}
        {Key("p", "pass of the big model")}
        {Key("deciding", "deciding")}
      </p>
    </div>
  );
}

/** How many words each pass gave, and what to do next. */
export function End() {
  const { rounds } = player;
  const words = sum(rounds.map(({ brings }) => brings.length));
  return (
    <div class="sv-picture-main sv-result">
      <p class="sv-cheap">
        {"Words from each pass of the big model: "}
        <b>{(words / rounds.length).toFixed(1)}</b>
        {" on average, where plain decoding gives 1."}
      </p>
      {WhatNext()}
      <div
        class="sv-yield"
        role="img"
        aria-label={"Words per pass: " + rounds.map(given).join(", ")}
      >
        {rounds.map((round, at) => (
          <div key={at} aria-hidden="true">
            <b>{given(round)}</b>
            {round.brings.map(([, is], place) => (
              <i key={place} class={"sv-rider-" + origin(is)} />
            ))}
          </div>
        ))}
      </div>
      <p class="sv-picture-keys">
        {Object.entries(ORIGINS).map(([is, label]) => present(is) && Origin(is, label))}
      </p>
    </div>
  );
}

// Where a word comes from, by its state.
const ORIGINS = {
  accepted: "a kept guess",
  recovered: "replaces a rejected guess",
  bonus: "the pass’s own word",
};

const origin = (state: string) => (state === "plain" ? "bonus" : state);

const present = (state: string) =>
  player.rounds.some(({ brings }) => brings.some(([, is]) => origin(is) === state));

const Origin = (is: string, label: string) => (
  <span key={is}>
    <i class={"sv-rider-" + is} />
    {label}
  </span>
);

const given = ({ brings }: RoundLine) => brings.length;
