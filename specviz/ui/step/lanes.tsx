// The two time rows: the big model alone, and with a small one that guesses. They move with every
// step. In the opening they race over the same text. Details has an axis, and the field's words.

import { percent, startsSpaced } from "../shared/dom";
import { classes, render, RunningToken, termAttributes, Swatch } from "../shared/view";
import { isSimple } from "./mode";
import { player } from "./state";
import {
  duration,
  passesAt,
  speedUp,
  sum,
  timeAt,
  timeBefore,
  tokensAt,
  wholeTime,
  wordsAt,
} from "./simple_times";
import { $ } from "./stage";

import type { ComponentChild } from "preact";
/** Times in seconds. */
export type Block = { at: number; long: number; kind: "prompt" | "target" | "draft" };

type Style = "everyday" | "race" | "exact";

/** Show the times until the step on screen, in the mode's place and words. */
export function showTimes() {
  const { round, step } = player.at;
  const until = player.rounds.length ? timeAt(round, step) : 0;
  showLanes(until, isSimple() ? "everyday" : "exact");
}

/** @param until Seconds since the start of the run. */
export function showLanes(until: number, style: Style) {
  const place = $(style === "exact" ? ".sv-time" : ".sv-lanes");
  place.classList.toggle("sv-races", style === "race");
  render(Lanes(until, style), place);
}

function Lanes(until: number, style: Style) {
  const plain = player.baseline ? sum(player.baseline.seconds) : 0;
  const scale = 1 / Math.max(plain, wholeTime(), 1e-9);
  const [theirs, ours] = SAID[style](until);
  const races = style === "race";
  return [
    Lane(
      theirs,
      player.baseline ? (
        Track(plainBlocks(), scale, Math.min(until, plain))
      ) : (
        <span class="sv-lanes-none">{unmeasured()}</span>
      ),
      races ? TextUpTo(Math.min(passesAt(until), wordsAt(wholeTime()))) : null,
    ),
    Lane(
      ours,
      [
        Track(blocks(), scale, Math.min(until, wholeTime())),
        style === "exact" ? ThisRound(scale) : null,
      ],
      races ? TextUpTo(wordsAt(until), true) : null,
    ),
    style === "exact" ? <div class="sv-lanes-axis">{ticks(scale)}</div> : null,
    <div class="sv-lanes-under">{UNDER[style](until)}</div>,
  ];
}

type Names = [name: string, how?: string];
type Count = [count: ComponentChild, unit: string];

const tokens = (many: number): Count => [many, many === 1 ? "token" : "tokens"];
const passes = (many: number): Count => [many, many === 1 ? "pass" : "passes"];
const words = (many: number): Count => [many, many === 1 ? "word" : "words"];
const NO_COUNT: Count = ["", ""];

const everyday = (theirs: Count, ours: Count, how = "one word per pass"): [Names, Count][] => [
  [["The big model alone", how], theirs],
  [[`A ${guesser()} guesses`, "the big one checks"], ours],
];

/** The names of both rows, and their counts. */
const SAID: Record<Style, (until: number) => [Names, Count][]> = {
  everyday: () =>
    everyday(
      player.baseline ? [player.baseline.seconds.length, "passes"] : NO_COUNT,
      passes(player.rounds.length),
    ),
  race: (until) =>
    everyday(
      words(passesAt(until)),
      words(wordsAt(until)),
      "one word per pass; same text, to compare",
    ),
  exact: (until) => [
    [["Plain decoding"], player.baseline ? tokens(passesAt(until)) : NO_COUNT],
    [["Speculative"], player.rounds.length ? tokens(tokensAt(player.at)) : NO_COUNT],
  ],
};

const UNDER: Record<Style, (until: number) => ComponentChild> = {
  everyday: () => [Keys(), Verdict()],
  race: () => [
    Keys(),
    <span class="sv-raced-accepted">kept guess</span>,
    <span class="sv-raced-recovered">replaces a rejected one</span>,
    <span>no line: the big model’s own</span>,
    <span>a “word” is a token: a word or a piece of one</span>,
  ],
  exact: ExactKeys,
};

/** The outline of the round on screen. */
function ThisRound(scale: number) {
  const { round } = player.at;
  if (!player.rounds.length) return null;
  const long = sum(player.rounds[round].seconds);
  const place = { left: percent(timeBefore(round) * scale), width: percent(long * scale) };
  return <i key={"now" + round} class="sv-lanes-now" style={place} />;
}

/** The labels of the axis, until where there is space for the words of one. */
function ticks(scale: number) {
  const whole = 1 / scale;
  const unit =
    [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100].find((u) => whole / u <= 5) ||
    whole / 5;
  return Array.from({ length: Math.floor((0.82 * whole) / unit) + 1 }, (_, at) => (
    <span key={at} style={{ left: percent(at * unit * scale) }}>
      {unit < 0.1 ? Math.round(at * unit * 1000) + " ms" : (at * unit).toFixed(1) + " s"}
    </span>
  ));
}

const kbd = (key: string) => <kbd>{key}</kbd>;

function ExactKeys(until: number) {
  const summary = (player.baseline || player.finished)?.summary ?? "";
  const cut = summary.endsWith("plain") ? summary.lastIndexOf(", ") + 2 : summary.length;
  const both = player.baseline
    ? "Both measured on the same machine, one after the other."
    : "Measured in this run.";
  return [
    Key("p", "target pass", "target"),
    Key("q", "drafting", "draft"),
    <span class="sv-lanes-sum">
      {summary.slice(0, cut)}
      <b>{summary.slice(cut)}</b>
    </span>,
    player.rounds.length ? (
      <span class="sv-lanes-how" {...termAttributes("baseline")}>
        {`${both} The line marks this step, ${duration(until)} after the start.`}
      </span>
    ) : null,
    <span class="sv-last">
      {["Keys: ", kbd("←"), " ", kbd("→"), " step · ", kbd("space"), " plays · "]}
      {[kbd("Home"), " ", kbd("End")]}
    </span>,
  ];
}

const unmeasured = () =>
  player.run?.source === "live" && player.finished?.reason !== "stopped"
    ? "measured next"
    : "not measured";

/** How much faster the run was. */
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
  return <b class="sv-lanes-speed">{`${speed} × faster`}</b>;
}

// The key is the same at every step, so that nothing moves.
function Keys() {
  const drafting = sum(player.rounds.map(({ seconds }) => seconds[0]));
  return [
    Key("p", "big model’s pass"),
    drafting > VISIBLE * wholeTime() ? Key("q", "guessing") : null,
    Key("prompt", "prompt’s pass"),
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

/** @param term Its entry in the glossary. */
export const Key = (hue: string, label: string, term?: string) => (
  <span key={hue} {...termAttributes(term)}>
    {Swatch(hue)}
    {label}
  </span>
);

const Lane = (
  [[name, how], [count, unit]]: [Names, Count],
  track: ComponentChild,
  text: ComponentChild,
) => (
  <div key={name} class="sv-lanes-row">
    <div class="sv-lanes-who">
      <b>{name}</b>
      {how && <span>{how}</span>}
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

/**
 * The text of this run up to a number of words; its end, if it is long.
 * @param marked Whether each word shows what became of the guess.
 */
function TextUpTo(words: number, marked = false) {
  const all = player.rounds.flatMap(({ brings }) => brings).slice(0, words);
  return (
    <span>
      {all.map(([pieces, is], at) => (
        <span key={at} class={marked ? "sv-raced-" + is : undefined}>
          {RunningToken(at || !startsSpaced(pieces) ? pieces : pieces.slice(1))}
        </span>
      ))}
    </span>
  );
}
