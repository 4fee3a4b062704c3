// The table of lanes: tokens and cost of a round on one scale, and the other measurements.

import { el, percent } from "../../shared/dom.js";
import { there } from "../../shared/there.js";
import { called, factsOf, plainFirst, story } from "./lines.js";
import { onCost, piece } from "./sentence.js";
import { $, stage } from "./stage.js";
import { COLUMNS, DASH, defined, fixed, keyed, MORE, patch, SHOWN, sign } from "./words.js";

/** @import { Child } from "../../shared/data.js" */
/** @import { Costs, LaneNumbers, Whole } from "./data.js" */

/** @param {LaneNumbers[]} lanes */
export function showTable(lanes) {
  const scale =
    1 /
    Math.max(
      1,
      ...lanes.map((lane) => Math.max(lane.brings || 0, lane.costs ? lane.costs.total : 0)),
    );
  const rows = plainFirst(lanes).map((lane) => numbers(lane, scale));
  $(".sv-race-table").replaceChildren(head(), ...rows);
}

/** @param {string} name @param {string} role @param {...Child} inside */
function cell(name, role, ...inside) {
  const made = el("div", "sv-race-cell sv-race-c-" + name, ...inside);
  made.setAttribute("role", role);
  return made;
}

// A column's name, with its definition on hover, focus and tap.
/** @param {string} name */
function term(name) {
  const button = el("button", "sv-race-term", COLUMNS[name][0]),
    tip = el("span", "sv-race-tip", defined(COLUMNS[name]));
  button.type = "button";
  tip.id = stage.config.name + "-is-" + name;
  tip.setAttribute("role", "tooltip");
  button.setAttribute("aria-describedby", tip.id);
  button.addEventListener("keydown", (event) => event.key === "Escape" && button.blur());
  return el("span", "sv-race-defined", button, tip);
}

function head() {
  const legend = el(
    "span",
    "sv-race-legend",
    ...[
      ["q", "drafting"],
      ["p", "target pass"],
      ["rest", "judging, caches"],
      ["prefill", "prompt"],
    ].map(([hue, said]) => keyed(patch(hue), said)),
  );
  const says = el(
    "span",
    "sv-race-says",
    " adds tokens and costs time, in plain tokens. It pays off if the upper bar is longer.",
  );
  const others = Object.keys(COLUMNS)
    .slice(1)
    .map((name) => cell(name, "columnheader", term(name)));
  const made = el(
    "div",
    "sv-race-numbers sv-race-heads",
    cell("name", "columnheader", "Whole run"),
    cell("rounds", "columnheader", term("rounds"), says, legend),
    ...others,
  );
  made.setAttribute("role", "row");
  return made;
}

/** @param {LaneNumbers} lane @param {number} scale */
function numbers(lane, scale) {
  const facts = factsOf(lane.name);
  const told = Object.keys(SHOWN).map((name) => [
    name,
    cell(
      name,
      "cell",
      el("span", "sv-race-label", COLUMNS[name][0]),
      el("span", "sv-race-shown", SHOWN[name](lane)),
      name === "speedup" ? apart(lane) : null,
      name === "alpha" ? untold(lane) : null,
    ),
  ]);
  told.splice(3, 0, [
    "depths",
    cell("depths", "cell", el("span", "sv-race-label", COLUMNS.depths[0]), depths(lane)),
  ]);
  const name = cell("name", "rowheader", el("h3", "", facts.title), el("p", "", facts.said));
  const first = el(
    "div",
    "sv-race-part",
    name,
    cell("rounds", "cell", brings(lane, scale), costs(lane, scale)),
    ...told.map(([, made]) => made),
  );
  const says = cell(
    "honest",
    "cell",
    el("p", "", ...lane.sentence_parts.map(piece), " ", onCost(lane)),
    parting(lane),
  );
  says.setAttribute("aria-colspan", String(told.length + 2));
  const second = el("div", "sv-race-part", says);
  const made = el(
    "div",
    "sv-race-numbers" +
      (lane.name === "plain" ? " sv-race-plain" : "") +
      (lane.noise ? " sv-race-noisy" : ""),
    first,
    second,
  );
  made.setAttribute("role", "rowgroup");
  for (const part of [first, second]) part.setAttribute("role", "row");
  return made;
}

// The range of the speed-up, for a lane that ran several times.
/** @param {LaneNumbers} lane */
function apart({ speedups, noise }) {
  if (!speedups || noise) return null;
  return el("small", "sv-race-spread", fixed(speedups[0], 2) + " to " + fixed(speedups[1], 2));
}

// Say why α is missing: under some rules, acceptance depends on more than p and q of one position.
/** @param {LaneNumbers} lane */
function untold({ alpha, guesses, rule }) {
  if (alpha !== null || !guesses) return null;
  const made = el("small", "sv-race-spread", "undefined for " + rule);
  made.title =
    "α is not defined for the rule “" +
    rule +
    "”: there, acceptance depends on more than p and q of one position";
  return made;
}

// Say so if the text is not plain decoding's.
/** @param {LaneNumbers} lane */
function parting(lane) {
  const { verdict, sentence } = lane.equality;
  if (verdict === "same" || lane.name === "plain") return null;
  const kind = ["stopped", "unknown"].includes(verdict) ? "open" : "apart";
  return el("p", "sv-race-apart", sign(kind), el("span", "", sentence));
}

/** @param {string} label @param {string} value @param {...Child} bars */
function measure(label, value, ...bars) {
  return el(
    "div",
    "sv-race-g",
    el("span", "sv-race-gl", label),
    el("div", "sv-race-gb", ...bars, el("b", "", value)),
  );
}

/** @param {HTMLElement} made @param {number} share */
function length(made, share) {
  made.style.width = percent(share);
  return made;
}

// One dark piece per token.
/** @param {LaneNumbers} lane @param {number} scale */
function brings(lane, scale) {
  const whole = Math.floor((lane.brings || 0) + 1e-9),
    rest = (lane.brings || 0) - whole;
  const pieces = Array.from({ length: whole }, () => length(el("i", "sv-race-u"), scale));
  if (rest > 0.005) pieces.push(length(el("i", "sv-race-u"), rest * scale));
  return measure("tokens", fixed(lane.brings, lane.decimals), ...pieces);
}

/** @type {[kind: keyof Costs, hue: string, said: string][]} */
const KINDS = [
  ["draft", "q", "drafting"],
  ["target", "p", "target pass"],
  ["overhead", "rest", "judging, caches"],
  ["prefill", "prefill", "reading the prompt"],
];

/** @param {LaneNumbers} lane @param {number} scale */
function costs(lane, scale) {
  const { costs } = lane;
  if (!costs) return measure("cost", DASH);
  const pieces = KINDS.filter(([kind]) => costs[kind] > 0).map(([kind, hue, said]) => {
    const made = length(patch(hue), costs[kind] * scale);
    made.title = said + ": " + fixed(costs[kind], 2) + " plain tokens";
    return made;
  });
  return measure("cost", fixed(costs.total, lane.decimals), ...pieces);
}

// By depth, the share of checked positions where a guess was accepted; the dotted line is 100%.
/** @param {LaneNumbers} lane */
function depths(lane) {
  if (!lane.depths.length) return el("span", "", DASH);
  const said = lane.depths.map(
    ({ positions, kept }, at) =>
      "depth " +
      (at + 1) +
      ": " +
      kept +
      " of " +
      positions +
      " accepted" +
      (positions ? ", " + fixed(kept / positions, 2) : ""),
  );
  const bars = lane.depths.map(({ positions, kept }, at) => {
    const bar = el("i", "");
    bar.style.height = percent(positions ? kept / positions : 0);
    const made = el("span", "", bar);
    made.title = said[at];
    return made;
  });
  const made = el("div", "sv-race-depths", ...bars);
  made.setAttribute("role", "img");
  made.setAttribute("aria-label", said.join("; "));
  return made;
}

/** @param {Whole} whole */
export function showFoot(whole) {
  const race = there(story.race);
  const order = whole.order.map(called).join(", ");
  const where = [race.where, "batch 1", race.said].filter(Boolean).join(" · ");
  const live =
    race.source === "live"
      ? "Measured on this machine. "
      : "Recorded: measured when the race was recorded. ";
  const most = Math.max(...whole.lanes.map(({ runs }) => runs.length));
  const turns =
    "Lanes that took less than a second ran " + most + " times: the table shows their median run";
  $(".sv-race-foot").textContent =
    live +
    "The lanes ran one at a time, in random order: " +
    order +
    ". " +
    (most > 1 ? turns + ", and the lowest and highest speed-up. " : "") +
    where +
    ".";
  const words = Object.values({ ...COLUMNS, ...MORE });
  $(".sv-race-words dl").replaceChildren(
    ...words.map((each) => el("div", "", el("dt", "", each[0]), el("dd", "", defined(each)))),
  );
}
