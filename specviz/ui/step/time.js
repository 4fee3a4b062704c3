// The timeline: drafting and target time of each round above plain decoding, on one measured scale.

import { drawing, el, percent } from "../shared/dom.js";
import { reel } from "./reel.js";
import { widthOf } from "./room.js";
import { $ } from "./stage.js";
import { legend, swatch } from "./tree.js";

/** @import { Frame, RoundLine, Span } from "./data.js" */

/** @param {RoundLine} told */
const total = (told) => told.seconds[0] + told.seconds[1] + told.seconds[2];
/** @param {number[]} numbers */
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

/** @param {Frame} frame @param {number} round */
export function showTime(frame, round) {
  const ours = sum(reel.rounds.map(total));
  const theirs = reel.baseline ? sum(reel.baseline.seconds) : 0;
  // Room for the end's words beside the bars; on a narrow player they are below.
  const said = (reel.baseline || reel.finished)?.summary.length || 0;
  const words = (said * 7 + 20) / (widthOf("lane") || 1000);
  const room = words < 0.6 ? 1 / (1 - Math.max(words, 0.31)) : 1.45;
  const scale = 1 / Math.max(room * ours, theirs, 1e-9);
  const until = sum(reel.rounds.slice(0, round + 1).map(total));
  fastLane(round, scale, until, tokensNow(frame, round), ours);
  plainLane(scale, until);
  axis(scale);
  $(".sv-times .sv-key-baseline").replaceChildren(measured(round, until));
}

// What was measured, and what the line marks.
/** @param {number} round @param {number} until */
function measured(round, until) {
  const both = reel.baseline
    ? "Both measured in this run, one after the other."
    : "Measured in this run.";
  const after = until < 10 ? Math.round(until * 1000) + " ms" : until.toFixed(1) + " s";
  return (
    both +
    " The line marks the end of round " +
    reel.rounds[round].number +
    ", " +
    after +
    " after the start."
  );
}

// Tokens at this step: those of earlier rounds, and those of this round so far.
/** @param {Frame} frame @param {number} round */
function tokensNow(frame, round) {
  const before = sum(reel.rounds.slice(0, round).map((told) => told.brings.length));
  const sure = ["accepted", "recovered", "bonus", "plain"];
  return before + frame.chips.filter((view) => sure.includes(view.is)).length;
}

/** @param {Span[]} spans @param {number} scale */
function rectangles(spans, scale) {
  return spans
    .map(
      ([at, width]) =>
        "M" +
        (1000 * at * scale).toFixed(2) +
        " 0h" +
        Math.max(1000 * width * scale - 0.6, 0.3).toFixed(2) +
        "v16h-" +
        Math.max(1000 * width * scale - 0.6, 0.3).toFixed(2) +
        "z",
    )
    .join("");
}

/**
 * @param {number} round
 * @param {number} scale
 * @param {number} until
 * @param {number} tokens
 * @param {number} ours
 */
function fastLane(round, scale, until, tokens, ours) {
  /** @type {Record<"past" | "ahead", [draft: Span[], target: Span[]]>} */
  const spans = { past: [[], []], ahead: [[], []] };
  let at = 0;
  reel.rounds.forEach((told, index) => {
    const [draft, target] = spans[index <= round ? "past" : "ahead"];
    if (told.seconds[0]) draft.push([at, told.seconds[0]]);
    target.push([at + told.seconds[0], told.seconds[1]]);
    at += total(told);
  });
  const svg = track(
    [
      [spans.ahead[0], "sv-t-draft sv-ahead"],
      [spans.ahead[1], "sv-t-target sv-ahead"],
      [spans.past[0], "sv-t-draft"],
      [spans.past[1], "sv-t-target"],
    ],
    scale,
  );
  const now = el("i", "sv-t-now");
  now.style.left = percent((until - total(reel.rounds[round])) * scale);
  now.style.width = percent(total(reel.rounds[round]) * scale);
  const said = reel.baseline || reel.finished;
  const end = el("span", "sv-t-end", ...(said ? lastWords(said.summary) : []));
  end.style.left = percent(Math.min(ours * scale, 0.72));
  end.title = said?.summary ?? "";
  // Near the end the summary is where the flag would be, and at the end it says the same.
  const left = ours - until;
  const flags = left > 0 || !said ? [flag(until, scale, tokens, said && left * scale < 0.1)] : [];
  $(".sv-lane-fast").replaceChildren(svg, now, line(until, scale), ...flags, end);
}

// The end in words; its speed-up, where one was measured, is what it comes to.
/** @param {string} summary */
function lastWords(summary) {
  const cut = summary.endsWith("plain") ? summary.lastIndexOf(", ") + 2 : summary.length;
  return [summary.slice(0, cut), el("b", "", summary.slice(cut))];
}

/** @param {number} scale @param {number} until */
function plainLane(scale, until) {
  if (!reel.baseline) {
    const stopped = reel.finished && reel.finished.reason === "stopped";
    const live = reel.run && reel.run.source === "live" && !stopped;
    $(".sv-lane-plain").replaceChildren(
      el("span", "sv-t-none", live ? "measured next" : "not measured in this run"),
    );
    return;
  }
  /** @type {Span[]} */
  const past = [];
  /** @type {Span[]} */
  const ahead = [];
  let at = 0,
    tokens = 0;
  for (const seconds of reel.baseline.seconds) {
    const done = at + seconds <= until * (1 + 1e-9);
    (done ? past : ahead).push([at, seconds]);
    if (done) tokens += 1;
    at += seconds;
  }
  const svg = track(
    [
      [ahead, "sv-t-target sv-ahead"],
      [past, "sv-t-target"],
    ],
    scale,
  );
  $(".sv-lane-plain").replaceChildren(svg, line(until, scale), flag(until, scale, tokens));
}

/** @param {[spans: Span[], name: string][]} groups @param {number} scale */
function track(groups, scale) {
  const svg = drawing(
    "0 0 1000 16",
    groups.map(([spans, name]) => [rectangles(spans, scale), name]),
    "sv-t",
  );
  svg.setAttribute("preserveAspectRatio", "none");
  return svg;
}

/** @param {number} until @param {number} scale */
function line(until, scale) {
  const made = el("i", "sv-t-line");
  made.style.left = percent(until * scale);
  return made;
}

/** @param {number} until @param {number} scale @param {number} tokens @param {unknown} [before] */
function flag(until, scale, tokens, before) {
  const made = el("span", "sv-t-flag", tokens === 1 ? "1 token" : tokens + " tokens");
  made.style.left = "calc(" + percent(until * scale) + " + 8px)";
  if (before || until * scale > 0.85) made.style.transform = "translateX(calc(-100% - 16px))";
  return made;
}

/** @param {number} scale */
function axis(scale) {
  const whole = 1 / scale;
  const unit =
    [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100].find((u) => whole / u <= 5) || 200;
  const made = [];
  const room = 1 - 40 / (widthOf("axis") || 1000); // for the last one's words
  for (let at = 0; at <= whole * room; at += unit) {
    const tick = el("span", "", unit < 0.1 ? Math.round(at * 1000) + " ms" : at.toFixed(1) + " s");
    tick.style.left = percent(at * scale);
    made.push(tick);
  }
  $(".sv-axis").replaceChildren(...made);
}

export function timeLegend() {
  legend($(".sv-times"), [
    ["draft", "drafting", swatch("q")],
    ["target", "target pass", swatch("p")],
    ["baseline", "", ""],
  ]);
}
