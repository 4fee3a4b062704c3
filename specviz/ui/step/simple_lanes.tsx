// The two time rows of the Simple mode: the big model alone, and with a small one that guesses. They
// move with every step. In the opening they race over the same text.

import { percent, startsSpaced } from "../shared/dom";
import { classes, render, RunningToken } from "../shared/view";
import { Swatch } from "./legend";
import { player } from "./state";
import { passesAt, speedUp, sum, wholeTime, wordsAt } from "./simple_times";
import { $ } from "./stage";

import type { ComponentChild } from "preact";
/** Times in seconds. */
export type Block = { at: number; long: number; kind: "prompt" | "target" | "draft" };

/** @param until Seconds since the start of the run. */
export function showLanes(until: number, races: boolean) {
  $(".sv-lanes").classList.toggle("sv-races", races);
  render(Lanes(until, races), $(".sv-lanes"));
}

function Lanes(until: number, races: boolean) {
  const plain = player.baseline ? sum(player.baseline.seconds) : 0;
  const scale = 1 / Math.max(plain, wholeTime(), 1e-9);
  const passes = player.rounds.length;
  const words = sum(player.rounds.map(({ brings }) => brings.length));
  return [
    Lane(
      ["The big model alone", "one word per pass"],
      player.baseline ? (
        Track(plainBlocks(), scale, Math.min(until, plain))
      ) : (
        <span class="sv-lanes-none">{unmeasured()}</span>
      ),
      races
        ? [passesAt(until), "words"]
        : [player.baseline ? player.baseline.seconds.length : "", "passes"],
      races ? TextUpTo(Math.min(passesAt(until), words)) : null,
    ),
    Lane(
      [`A ${guesser()} guesses`, "the big one checks"],
      Track(blocks(), scale, Math.min(until, wholeTime())),
      races ? [wordsAt(until), "words"] : [passes, passes === 1 ? "pass" : "passes"],
      races ? TextUpTo(wordsAt(until)) : null,
    ),
    <div class="sv-lanes-under">
      {Keys()}
      {races ? <span>a “word” is a token: a word or a piece of one</span> : Verdict()}
    </div>,
  ];
}

const unmeasured = () =>
  player.run?.source === "live" && player.finished?.reason !== "stopped"
    ? "measured next"
    : "not measured";

/** How much faster the run was, and why that is less than the passes suggest. */
function Verdict() {
  const speed = speedUp();
  if (!speed)
    return player.baseline && player.finished ? (
      <b class="sv-lanes-speed">these times vary too much to compare</b>
    ) : null;
  if (Number(speed) <= 1)
    return (
      <b class="sv-lanes-speed">{speed + " × as fast: here guessing costs more than it saves"}</b>
    );
  const { rounds } = player;
  const words = sum(rounds.map(({ brings }) => brings.length)) / rounds.length;
  const more = words.toFixed(1).replace(/\.0$/, "");
  const not = Number(more) > Number(speed) ? `, not ${more} ×: guesses take time, too` : "";
  return <b class="sv-lanes-speed">{`${speed} × faster${not}`}</b>;
}

// The key is the same at every step, so that nothing moves.
function Keys() {
  const drafting = sum(player.rounds.map(({ seconds }) => seconds[0]));
  return [
    Key("p", "big model’s pass"),
    drafting > VISIBLE * wholeTime() ? Key("q", "guessing") : null,
    Key("prompt", "prompt pass"),
    Key("ahead", "to come"),
  ];
}

const VISIBLE = 0.01; // the least share of the time that can be seen

/** Return the drafter in everyday words, as the run's own sentences call it. */
export function guesser() {
  const parts = player.rounds.flatMap(({ frames: [first] }) => first.caption.simple ?? []);
  const name = parts.find((part) => typeof part !== "string" && part.term === "draft");
  return (typeof name === "object" && name.t) || "small model";
}

const Key = (hue: string, label: string) => (
  <span key={hue}>
    {Swatch(hue)}
    {label}
  </span>
);

const Lane = (
  [name, how]: [string, string],
  track: ComponentChild,
  [count, unit]: [ComponentChild, string],
  text: ComponentChild,
) => (
  <div key={name} class="sv-lanes-row">
    <div class="sv-lanes-who">
      <b>{name}</b>
      <span>{how}</span>
    </div>
    <div class="sv-lanes-track">{track}</div>
    <div class="sv-lanes-count">{count === "" ? null : [<b>{count}</b>, " ", unit]}</div>
    {text && <div class="sv-lanes-text">{text}</div>}
  </div>
);

function plainBlocks(): Block[] {
  let at = 0;
  return (player.baseline?.seconds ?? []).map((long, index) => {
    at += long;
    return { at: at - long, long, kind: index ? "target" : "prompt" };
  });
}

function blocks(): Block[] {
  let at = 0;
  return player.rounds.flatMap(({ number, seconds: [draft, target, rest] }) => {
    const from = at;
    at += draft + target + rest;
    const pass: Block = { at: from + draft, long: target, kind: number ? "target" : "prompt" };
    return draft ? [{ at: from, long: draft, kind: "draft" }, pass] : [pass];
  });
}

function Track(all: Block[], scale: number, until: number) {
  return [
    all.map(({ at, long, kind }, index) => {
      const done = Math.min(1, Math.max(0, (until * (1 + 1e-9) - at) / long));
      return (
        <i
          key={index}
          class={classes("sv-block", "sv-block-" + kind)}
          style={{ left: percent(at * scale), width: percent(long * scale) }}
        >
          <i style={{ width: percent(done) }} />
        </i>
      );
    }),
    <i key="line" class="sv-lanes-line" style={{ left: percent(Math.min(1, until * scale)) }} />,
  ];
}

/** The text of this run up to a number of words; its end, if it is long. */
function TextUpTo(words: number) {
  const all = player.rounds.flatMap(({ brings }) => brings).slice(0, words);
  return (
    <span>
      {all.map(([pieces], at) => (
        <span key={at}>{RunningToken(at || !startsSpaced(pieces) ? pieces : pieces.slice(1))}</span>
      ))}
    </span>
  );
}
