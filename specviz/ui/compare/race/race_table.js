// The table of lanes: tokens and cost of a round on one scale, and the other measurements.

import { meaning, percent } from "../../shared/dom.js";
import { visit } from "../../shared/tabs.js";
import { there } from "../../shared/there.js";
import { Button, classes, h } from "../../shared/view.js";
import { factsOf, plainFirst, stage, story, titleOf } from "./lines.js";
import { DASH, fixed, Key, Patch, scaled, SentencePart, Sign } from "./words.js";

/** @import { ComponentChild } from "preact" */
/** @import { CostNumbers, LaneNumbers } from "./lines.py" */

/** For each column, its name and its glossary entry. @type {Record<string, [string, string]>} */
export const COLUMNS = {
  rounds: ["One round", "one round"],
  speedup: ["speed-up", "speed-up"],
  tokens_per_second: ["tokens/s", "tokens per second"],
  alpha: ["acceptance α", "alpha"],
  depths: ["accepted by depth", "kept by depth"],
  flops_per_token: ["FLOPs/token", "FLOPs per token"],
  bytes: ["extra files", "extra files"],
  held_bytes: ["held in memory", "held in memory"],
};
/** @type {[hue: string, title: string][]} */
const LEGEND = [
  ["q", "drafting"],
  ["p", "target pass"],
  ["rest", "judging, caches"],
  ["prefill", "prompt"],
];
/** @type {[kind: keyof CostNumbers, hue: string, title: string][]} */
const KINDS = [
  ["draft", "q", "drafting"],
  ["target", "p", "target pass"],
  ["overhead", "rest", "judging, caches"],
  ["prefill", "prefill", "reading the prompt"],
];

/** @param {number | null | undefined} bytes */
const size = (bytes) => (bytes === 0 ? "none" : scaled(bytes, ["B", "kB", "MB", "GB", "TB"]));

/**
 * For each column, what it shows for a lane.
 * @type {Record<string, (lane: LaneNumbers) => ComponentChild[]>}
 */
const SHOWN = {
  speedup: (lane) => [
    Value(lane.noise ? "unreliable" : fixed(lane.speedup, 2) + (lane.speedup === null ? "" : " ×")),
    SpeedupRange(lane),
  ],
  tokens_per_second: ({ tokens_per_second: speed }) => [
    Value(fixed(speed, Number(speed) < 10 ? 1 : 0)),
  ],
  alpha: (lane) => [Value(fixed(lane.alpha, 2)), NoAlpha(lane)],
  depths: (lane) => [Depths(lane)],
  flops_per_token: (lane) => [Value(scaled(lane.flops_per_token, ["", "k", "M", "G", "T", "P"]))],
  bytes: (lane) => [Value(size(lane.bytes))],
  held_bytes: (lane) => [Value(size(lane.held_bytes))],
};

/** @param {string} text */
const Value = (text) => h("span", { class: "sv-race-shown" }, text);

/** @param {LaneNumbers[]} lanes */
export function RaceTable(lanes) {
  const most = Math.max(
    1,
    ...lanes.map(({ brings, costs }) => Math.max(brings ?? 0, costs?.total ?? 0)),
  );
  return [
    Head(),
    ...plainFirst(lanes).map((lane) =>
      h(
        "div",
        {
          key: lane.name,
          class: classes(
            "sv-race-numbers",
            lane.name === "plain" && "sv-race-plain",
            lane.noise && "sv-race-noisy",
          ),
          role: "rowgroup",
        },
        h("div", { class: "sv-race-part", role: "row" }, ...Measurements(lane, 1 / most)),
        h("div", { class: "sv-race-part", role: "row" }, Explanation(lane)),
      ),
    ),
  ];
}

/** @param {string} name @param {"cell" | "columnheader" | "rowheader"} role @param {...ComponentChild} inside */
const Cell = (name, role, ...inside) =>
  h("div", { class: "sv-race-cell sv-race-c-" + name, role }, ...inside);

function Head() {
  const [rounds, ...others] = Object.keys(COLUMNS);
  return h(
    "div",
    { class: "sv-race-numbers sv-race-heads", role: "row" },
    Cell("name", "columnheader", "Whole run"),
    Cell(
      rounds,
      "columnheader",
      ColumnName(rounds),
      h(
        "span",
        { class: "sv-race-says" },
        ": tokens it adds (upper bar) and time it takes, in plain tokens (lower bar). It pays off if the upper bar is longer.",
      ),
      h(
        "span",
        { class: "sv-race-legend" },
        ...LEGEND.map(([hue, title]) => Key(Patch(hue), title)),
      ),
    ),
    ...others.map((name) => Cell(name, "columnheader", ColumnName(name))),
  );
}

// The name of a column, with its definition on hover, focus and tap.
/** @param {string} name */
function ColumnName(name) {
  const [title, term] = COLUMNS[name];
  const id = "sv-race-is-" + name;
  return h(
    "span",
    { class: "sv-race-defined" },
    h(
      "button",
      {
        type: "button",
        class: "sv-race-term",
        "aria-describedby": id,
        /** @param {KeyboardEvent & { currentTarget: HTMLElement }} event */
        onKeyDown: ({ key, currentTarget }) => key === "Escape" && currentTarget.blur(),
      },
      title,
    ),
    h("span", { class: "sv-race-tip", id, role: "tooltip" }, meaning(term)),
  );
}

/** @param {LaneNumbers} lane @param {number} scale */
function Measurements(lane, scale) {
  const { title, shape } = factsOf(lane.name);
  return [
    Cell("name", "rowheader", h("h3", null, title), h("p", null, shape)),
    Cell("rounds", "cell", Tokens(lane, scale), Cost(lane, scale)),
    ...Object.entries(SHOWN).map(([name, shown]) =>
      Cell(name, "cell", h("span", { class: "sv-race-label" }, COLUMNS[name][0]), ...shown(lane)),
    ),
  ];
}

/** @param {LaneNumbers} lane */
const Explanation = (lane) =>
  h(
    "div",
    {
      class: "sv-race-cell sv-race-c-honest",
      role: "cell",
      "aria-colspan": Object.keys(SHOWN).length + 2,
    },
    h("p", null, ...lane.sentence_parts.map(SentencePart), " ", CostLink(lane)),
    Difference(lane),
  );

// A button that shows this lane's point on the Cost tab.
/** @param {LaneNumbers} lane */
function CostLink({ name, point }) {
  if (!point || !stage.config.served) return null;
  const title = titleOf(name);
  const { source, where } = there(story.race);
  const open = () => visit("Cost", "sv-law", { ...point, name: title, source, where });
  const attributes = { class: "sv-race-link", "aria-label": "See it on Cost: " + title };
  return Button("See it on Cost", open, attributes);
}

// The range of the speed-up, for a lane that ran several times.
/** @param {LaneNumbers} lane */
const SpeedupRange = ({ speedups, noise }) =>
  speedups && !noise
    ? h("small", { class: "sv-race-spread" }, speedups.map((each) => fixed(each, 2)).join(" to "))
    : null;

// Why there is no α: under some rules, acceptance depends on more than p and q of one position.
/** @param {LaneNumbers} lane */
function NoAlpha({ alpha, guesses, rule }) {
  if (alpha !== null || !guesses) return null;
  const title =
    "α is not defined for the rule “" +
    rule +
    "”: there, acceptance depends on more than p and q of one position";
  return h("small", { class: "sv-race-spread", title }, "no α for this rule");
}

// A sentence if the text differs from plain decoding's.
/** @param {LaneNumbers} lane */
function Difference({ name, equality: { verdict, sentence } }) {
  if (verdict === "same" || name === "plain") return null;
  const sign = Sign(["stopped", "unknown"].includes(verdict) ? "open" : "apart");
  return h("p", { class: "sv-race-apart" }, sign, h("span", null, sentence));
}

/** @param {string} label @param {string} value @param {ComponentChild[]} bars */
const Measure = (label, value, bars = []) =>
  h(
    "div",
    { class: "sv-race-g" },
    h("span", { class: "sv-race-gl" }, label),
    h("div", { class: "sv-race-gb" }, ...bars, h("b", null, value)),
  );

// Tokens as dark pieces, one per token.
/** @param {LaneNumbers} lane @param {number} scale */
function Tokens({ brings, shown }, scale) {
  const whole = Math.floor((brings ?? 0) + 1e-9);
  const rest = (brings ?? 0) - whole;
  const pieces = [...Array(whole).fill(1), ...(rest > 0.005 ? [rest] : [])];
  return Measure(
    "tokens",
    shown?.brings ?? DASH,
    pieces.map((piece) => h("i", { class: "sv-race-u", style: { width: percent(piece * scale) } })),
  );
}

/** @param {LaneNumbers} lane @param {number} scale */
function Cost({ costs, shown }, scale) {
  if (!costs) return Measure("cost", DASH);
  const pieces = KINDS.filter(([kind]) => costs[kind] > 0).map(([kind, hue, title]) =>
    Patch(hue, {
      style: { width: percent(costs[kind] * scale) },
      title: title + ": " + fixed(costs[kind], 2) + " plain tokens",
    }),
  );
  return Measure("cost", shown?.cost ?? DASH, pieces);
}

// For each depth, in which share of the judged positions a guess was accepted; the dotted line is
// 100%.
/** @param {LaneNumbers} lane */
function Depths({ depths }) {
  if (!depths.length) return h("span", null, DASH);
  const titles = depths.map(({ positions, kept }, at) => {
    const share = positions ? ", " + fixed(kept / positions, 2) : "";
    return "depth " + (at + 1) + ": " + kept + " of " + positions + " accepted" + share;
  });
  return h(
    "div",
    { class: "sv-race-depths", role: "img", "aria-label": titles.join("; ") },
    ...depths.map(({ positions, kept }, at) =>
      h(
        "span",
        { title: titles[at] },
        h("i", { style: { height: percent(positions ? kept / positions : 0) } }),
      ),
    ),
  );
}
