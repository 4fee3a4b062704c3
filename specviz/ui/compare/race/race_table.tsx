// The table of lanes: tokens and cost of a round on one scale, and the other measurements.

import { percent } from "../../shared/dom";
import { visit } from "../../shared/tabs";
import { required } from "../../shared/required";
import { Button, classes, LegendEntry, Swatch, termAttributes } from "../../shared/view";
import { factsOf, plainFirst, stage, story, titleOf } from "./lines";
import { DASH, fixed, scaled, SentencePart, Sign } from "./words";

import type { ComponentChild } from "preact";
import type { CostNumbers, LaneNumbers } from "./lines.py";

/** For each column, its name and its glossary entry. */
export const COLUMNS: Record<string, [string, string]> = {
  rounds: ["One round", "one round"],
  speedup: ["speed-up", "speed-up"],
  tokens_per_second: ["tokens/s", "tokens per second"],
  alpha: ["acceptance α", "alpha"],
  depths: ["accepted by depth", "kept by depth"],
  flops_per_token: ["FLOPs/token", "FLOPs per token"],
  bytes: ["extra files", "extra files"],
  held_bytes: ["held in memory", "held in memory"],
};
const LEGEND: [term: string, title: string, hue: string][] = [
  ["drafting", "drafting", "q"],
  ["pass", "target pass", "p"],
  ["judging", "judging, caches", "rest"],
  ["prefill", "prompt", "prefill"],
];
const KINDS: [kind: keyof CostNumbers, hue: string, title: string][] = [
  ["draft", "q", "drafting"],
  ["target", "p", "target pass"],
  ["overhead", "rest", "judging, caches"],
  ["prefill", "prefill", "reading the prompt"],
];

const size = (bytes: number | null | undefined) =>
  bytes === 0 ? "none" : scaled(bytes, ["B", "kB", "MB", "GB", "TB"]);

/** For each column, what it shows for a lane. */
const SHOWN: Record<string, (lane: LaneNumbers) => ComponentChild[]> = {
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

const Value = (text: string) => <span class="sv-race-shown">{text}</span>;

export function RaceTable(lanes: LaneNumbers[]) {
  const most = Math.max(
    1,
    ...lanes.map(({ brings, costs }) => Math.max(brings ?? 0, costs?.total ?? 0)),
  );
  return [
    Head(),
    ...plainFirst(lanes).map((lane) => (
      <div
        key={lane.name}
        class={classes(
          "sv-race-numbers",
          lane.name === "plain" && "sv-race-plain",
          lane.noise && "sv-race-noisy",
        )}
        role="rowgroup"
      >
        <div class="sv-race-part" role="row">
          {Measurements(lane, 1 / most)}
        </div>
        <div class="sv-race-part" role="row">
          {Explanation(lane)}
        </div>
      </div>
    )),
  ];
}

const Cell = (
  name: string,
  role: "cell" | "columnheader" | "rowheader",
  ...inside: ComponentChild[]
) => (
  <div class={"sv-race-cell sv-race-c-" + name} role={role}>
    {inside}
  </div>
);

function Head() {
  const [rounds, ...others] = Object.keys(COLUMNS);
  return (
    <div class="sv-race-numbers sv-race-heads" role="row">
      {Cell("name", "columnheader", "Whole run")}
      {Cell(
        rounds,
        "columnheader",
        ColumnName(rounds),
        <span class="sv-race-says">
          : tokens it adds (upper bar) and time it takes, in plain tokens (lower bar). It pays off
          if the upper bar is longer.
        </span>,
        <span class="sv-legend">
          {LEGEND.map(([term, title, hue]) => LegendEntry(term, title, Swatch(hue)))}
        </span>,
      )}
      {others.map((name) => Cell(name, "columnheader", ColumnName(name)))}
    </div>
  );
}

// The name of a column, a term of the glossary that can be focused.
function ColumnName(name: string) {
  const [title, term] = COLUMNS[name];
  return (
    <span class="sv-race-term" tabindex={0} {...termAttributes(term)}>
      {title}
    </span>
  );
}

function Measurements(lane: LaneNumbers, scale: number) {
  const { title, shape } = factsOf(lane.name);
  return [
    Cell("name", "rowheader", <h3>{title}</h3>, <p>{shape}</p>),
    Cell("rounds", "cell", Tokens(lane, scale), Cost(lane, scale)),
    ...Object.entries(SHOWN).map(([name, shown]) =>
      Cell(name, "cell", <span class="sv-race-label">{COLUMNS[name][0]}</span>, ...shown(lane)),
    ),
  ];
}

const Explanation = (lane: LaneNumbers) => (
  <div
    class="sv-race-cell sv-race-c-honest"
    role="cell"
    aria-colspan={Object.keys(SHOWN).length + 2}
  >
    <p>
      {lane.sentence_parts.map(SentencePart)} {CostLink(lane)}
    </p>
    {Difference(lane)}
  </div>
);

// A button that shows this lane's point on the Cost tab.
function CostLink({ name, point }: LaneNumbers) {
  if (!point || !stage.config.served) return null;
  const title = titleOf(name);
  const { source, where } = required(story.race);
  const open = () => visit("Cost", "sv-runs", { ...point, name: title, source, where });
  const attributes = { class: "sv-race-link", "aria-label": "See it on Cost: " + title };
  return Button("See it on Cost", open, attributes);
}

// The range of the speed-up, for a lane that ran several times.
const SpeedupRange = ({ speedups, noise }: LaneNumbers) =>
  speedups && !noise ? (
    <small class="sv-race-spread">{speedups.map((each) => fixed(each, 2)).join(" to ")}</small>
  ) : null;

// Why there is no α: under some rules, acceptance depends on more than p and q of one position.
function NoAlpha({ alpha, guesses, rule }: LaneNumbers) {
  if (alpha !== null || !guesses) return null;
  const title =
    "α is not defined for the rule “" +
    rule +
    "”: there, acceptance depends on more than p and q of one position";
  return (
    <small class="sv-race-spread" title={title}>
      no α for this rule
    </small>
  );
}

// A sentence if the text differs from plain decoding's.
function Difference({ name, equality: { verdict, sentence } }: LaneNumbers) {
  if (verdict === "same" || name === "plain") return null;
  const sign = Sign(["stopped", "unknown"].includes(verdict) ? "open" : "apart");
  return (
    <p class="sv-race-apart">
      {sign}
      <span>{sentence}</span>
    </p>
  );
}

const Measure = (label: string, value: string, bars: ComponentChild[] = []) => (
  <div class="sv-race-g">
    <span class="sv-race-gl">{label}</span>
    <div class="sv-race-gb">
      {bars}
      <b>{value}</b>
    </div>
  </div>
);

// Tokens as dark pieces, one per token.
function Tokens({ brings, shown }: LaneNumbers, scale: number) {
  const whole = Math.floor((brings ?? 0) + 1e-9);
  const rest = (brings ?? 0) - whole;
  const pieces = [...Array(whole).fill(1), ...(rest > 0.005 ? [rest] : [])];
  return Measure(
    "tokens",
    shown?.brings ?? DASH,
    pieces.map((piece) => <i class="sv-race-u" style={{ width: percent(piece * scale) }} />),
  );
}

function Cost({ costs, shown }: LaneNumbers, scale: number) {
  if (!costs) return Measure("cost", DASH);
  const pieces = KINDS.filter(([kind]) => costs[kind] > 0).map(([kind, hue, title]) => (
    <i
      class={"sv-sw sv-sw-" + hue}
      style={{ width: percent(costs[kind] * scale) }}
      title={title + ": " + fixed(costs[kind], 2) + " plain tokens"}
    />
  ));
  return Measure("cost", shown?.cost ?? DASH, pieces);
}

// For each depth, in which share of the judged positions a guess was accepted; the dotted line is
// 100%.
function Depths({ depths }: LaneNumbers) {
  if (!depths.length) return <span>{DASH}</span>;
  const titles = depths.map(({ positions, kept }, at) => {
    const share = positions ? ", " + fixed(kept / positions, 2) : "";
    return "depth " + (at + 1) + ": " + kept + " of " + positions + " accepted" + share;
  });
  return (
    <div class="sv-race-depths" role="img" aria-label={titles.join("; ")}>
      {depths.map(({ positions, kept }, at) => (
        <span title={titles[at]}>
          <i style={{ height: percent(positions ? kept / positions : 0) }} />
        </span>
      ))}
    </div>
  );
}
