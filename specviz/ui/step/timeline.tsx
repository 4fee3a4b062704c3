// The timeline: drafting and target time of each round above plain decoding, on the same measured
// scale.

import { percent } from "../shared/dom";
import { render } from "../shared/view";
import { LegendEntry, Swatch } from "./legend";
import { player } from "./state";
import { widthOf } from "./room";
import { $ } from "./stage";

import type { ComponentChild } from "preact";
import type { DrawnFrame as Frame } from "../../figures/charts.py";
import type { RoundLine } from "./lines.py";
/** A stretch of time, in seconds. */
export type Span = [at: number, long: number];
/**
 * Data for both lanes. scale: share of the width per second. until: the end of this round, in
 * seconds. ours: the duration of all rounds.
 */
export type View = { round: number; scale: number; until: number; ours: number; tokens: number };

const total = ({ seconds: [draft, target, rest] }: RoundLine) => draft + target + rest;
const sum = (numbers: number[]) => numbers.reduce((a, b) => a + b, 0);

export function showTimeline(frame: Frame, round: number) {
  const ours = sum(player.rounds.map(total));
  const until = sum(player.rounds.slice(0, round + 1).map(total));
  const view = { round, scale: scaleOf(ours), until, ours, tokens: tokensAt(frame, round) };
  render(Timeline(view), $(".sv-time"));
}

// Before the first run.
export const showEmptyTimeline = () => render(Timeline(null), $(".sv-time"));

function Timeline(view: View | null) {
  return [
    Lane("Speculative", "sv-lane-first", "sv-lane-fast", view && FastLane(view)),
    Lane("Plain decoding", "", "sv-lane-plain", view && PlainLane(view)),
    <div class="sv-lane sv-scale">
      <span />
      <div class="sv-axis">{view && axis(view.scale)}</div>
    </div>,
    <div class="sv-under">
      <div class="sv-legend sv-times">
        {LegendEntry("draft", "drafting", Swatch("q"))}
        {LegendEntry("target", "target pass", Swatch("p"))}
        {LegendEntry("baseline", view ? measurement(view) : "", null)}
      </div>
      <p class="sv-last">{HINT}</p>
    </div>,
  ];
}

const [LEFT, RIGHT, SPACE, HOME, END] = ["←", "→", "space", "Home", "End"].map((key) => (
  <kbd>{key}</kbd>
));
const HINT = ["Keys: ", LEFT, " ", RIGHT, " step · ", SPACE, " plays · ", HOME, " ", END];

const Lane = (name: string, lane: string, track: string, bars: ComponentChild) => (
  <div class={"sv-lane " + lane}>
    <b>{name}</b>
    <div class={"sv-track " + track}>{bars}</div>
  </div>
);

// Return the space for the final words beside the bars; in a narrow player these are below.
function scaleOf(ours: number) {
  const theirs = player.baseline ? sum(player.baseline.seconds) : 0;
  const words = (summary().length * 7 + 20) / (widthOf("lane") || 1000);
  const room = words < 0.6 ? 1 / (1 - Math.max(words, 0.31)) : 1.45;
  return 1 / Math.max(room * ours, theirs, 1e-9);
}

const summary = () => (player.baseline || player.finished)?.summary ?? "";

// Return the hover text: what was measured, and which time the line marks.
function measurement({ round, until }: View) {
  const both = player.baseline
    ? "Both measured on the same machine, one after the other."
    : "Measured in this run.";
  const after = until < 10 ? Math.round(until * 1000) + " ms" : until.toFixed(1) + " s";
  const { number } = player.rounds[round];
  return `${both} The line marks the end of round ${number}, ${after} after the start.`;
}

// Return the number of tokens at this step: those of earlier rounds, and of this round so far.
function tokensAt(frame: Frame, round: number) {
  const before = sum(player.rounds.slice(0, round).map((line) => line.brings.length));
  const sure = ["accepted", "recovered", "bonus", "plain"];
  return before + frame.chips.filter((view) => sure.includes(view.is)).length;
}

function FastLane({ round, scale, until, ours, tokens }: View) {
  const spans: Record<"past" | "ahead", [draft: Span[], target: Span[]]> = {
    past: [[], []],
    ahead: [[], []],
  };
  let at = 0;
  player.rounds.forEach((line, index) => {
    const [draft, target] = spans[index <= round ? "past" : "ahead"];
    if (line.seconds[0]) draft.push([at, line.seconds[0]]);
    target.push([at + line.seconds[0], line.seconds[1]]);
    at += total(line);
  });
  const long = total(player.rounds[round]);
  const ended = Boolean(player.baseline || player.finished);
  // Near the end, the summary takes the place of the flag; at the end it says the same.
  const left = ours - until;
  const flagged = left > 0 || !ended;
  return [
    Track(scale, [
      [spans.ahead[0], "sv-t-draft sv-ahead"],
      [spans.ahead[1], "sv-t-target sv-ahead"],
      [spans.past[0], "sv-t-draft"],
      [spans.past[1], "sv-t-target"],
    ]),
    <i
      key={"now" + round}
      class="sv-t-now"
      style={{ left: percent((until - long) * scale), width: percent(long * scale) }}
    />,
    Line(until, scale),
    flagged ? Flag(until, scale, tokens, ended && left * scale < 0.1) : null,
    <span
      class="sv-t-end"
      style={{ left: percent(Math.min(ours * scale, 0.72)) }}
      title={summary()}
    >
      {ended ? lastWords(summary()) : null}
    </span>,
  ];
}

/** The final words; the speed-up, if it was measured, is emphasized. */
function lastWords(words: string): ComponentChild {
  const cut = words.endsWith("plain") ? words.lastIndexOf(", ") + 2 : words.length;
  return [words.slice(0, cut), <b>{words.slice(cut)}</b>];
}

function PlainLane({ scale, until }: View) {
  if (!player.baseline) {
    const live = player.run?.source === "live" && player.finished?.reason !== "stopped";
    return <span class="sv-t-none">{live ? "measured next" : "not measured in this run"}</span>;
  }
  const past: Span[] = [];
  const ahead: Span[] = [];
  let at = 0;
  for (const seconds of player.baseline.seconds) {
    const done = at + seconds <= until * (1 + 1e-9);
    (done ? past : ahead).push([at, seconds]);
    at += seconds;
  }
  return [
    Track(scale, [
      [ahead, "sv-t-target sv-ahead"],
      [past, "sv-t-target"],
    ]),
    Line(until, scale),
    Flag(until, scale, past.length, false),
  ];
}

function Track(scale: number, groups: [spans: Span[], name: string][]) {
  const paths = groups.map(([spans, name]) => <path d={rectangles(spans, scale)} class={name} />);
  const attributes = { viewBox: "0 0 1000 16", class: "sv-t", preserveAspectRatio: "none" };
  return (
    <svg {...attributes} aria-hidden="true">
      {paths}
    </svg>
  );
}

function rectangles(spans: Span[], scale: number) {
  return spans
    .map(([at, width]) => {
      const wide = Math.max(1000 * width * scale - 0.6, 0.3).toFixed(2);
      return `M${(1000 * at * scale).toFixed(2)} 0h${wide}v16h-${wide}z`;
    })
    .join("");
}

const Line = (until: number, scale: number) => (
  <i key={"line" + until} class="sv-t-line" style={{ left: percent(until * scale) }} />
);

function Flag(until: number, scale: number, tokens: number, before: boolean) {
  const style = {
    left: "calc(" + percent(until * scale) + " + 8px)",
    transform: before || until * scale > 0.85 ? "translateX(calc(-100% - 16px))" : "",
  };
  const words = tokens === 1 ? "1 token" : tokens + " tokens";
  return (
    <span key={"flag" + until} class="sv-t-flag" style={style}>
      {words}
    </span>
  );
}

function axis(scale: number) {
  const whole = 1 / scale;
  const unit =
    [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100].find((u) => whole / u <= 5) ||
    whole / 5;
  const ticks = [];
  const room = 1 - 40 / (widthOf("axis") || 1000); // for the last one's words
  for (let at = 0; at <= whole * room; at += unit) {
    const words = unit < 0.1 ? Math.round(at * 1000) + " ms" : at.toFixed(1) + " s";
    ticks.push(<span style={{ left: percent(at * scale) }}>{words}</span>);
  }
  return ticks;
}
