// The picture of the subject: for each word the outline of p, inside it the accepted part min(p, q),
// above it the hatched part that is missing, and above p, dashed, what the drafter says too often.

import { classes, RunningToken } from "../shared/view";

import type { ComponentChild } from "preact";
import type { LabelledRow } from "./simple_rows";

const LEAST = 0.25; // the probability that fills the picture at least

/** @param kind Whether only p is shown, or its parts, or its missing parts. */
export function Bars(rows: LabelledRow[], kind: "p" | "parts" | "missing") {
  const highest = Math.max(LEAST, ...rows.map(({ p, q }) => (kind === "p" ? p : Math.max(p, q))));
  const unit = 100 / highest;
  return (
    <div
      class={classes("sv-cols", "sv-cols-" + kind)}
      role="img"
      aria-label={described(rows, kind)}
    >
      {rows.map((row, at) => Column(row, at, unit, kind))}
    </div>
  );
}

function described(rows: LabelledRow[], kind: string) {
  const words = rows.map(({ w, pText, qText, scaledText }) => {
    const name = w
      ? `‹${w.map((each) => (typeof each === "string" ? each : "")).join("")}›`
      : "others";
    if (kind === "missing") return `${name} ${scaledText} of what is missing`;
    return `${name} ${pText}${kind === "parts" && qText ? ", guessed " + qText : ""}`;
  });
  return "Target: " + words.join("; ");
}

function Column(row: LabelledRow, at: number, unit: number, kind: string) {
  const { w, is } = row;
  return (
    <div key={at} class={classes("sv-col", is && "sv-col-" + is, !w && "sv-col-rest")}>
      <div class="sv-col-plot" aria-hidden="true">
        {kind === "p" ? PlainBar(row, unit) : PartBar(row, unit, kind)}
      </div>
      <div class="sv-col-word">{w ? RunningToken(w) : "others"}</div>
    </div>
  );
}

const PlainBar = ({ p, pText, is }: LabelledRow, unit: number) => [
  Part("whole", 0, p * unit),
  Label("p", p * unit, pText, is === "drawn"),
];

function PartBar(row: LabelledRow, unit: number, kind: string) {
  const { p, q, both, over, miss, is, pText, qText, scaledText } = row;
  const top = Math.max(p, both + over) * unit;
  const guess = is === "trial";
  return [
    over > 0 && guess ? Part("over", both * unit, over * unit) : null,
    Part("both", 0, both * unit),
    miss > 0 ? Part("miss", both * unit, miss * unit) : null,
    Part("outline", 0, p * unit),
    kind === "missing" ? (miss > 0 ? Label("r", top, scaledText, is === "drawn") : null) : null,
    kind === "parts" && !guess ? Label("p", top, pText, false) : null,
    kind === "parts" && guess ? GuessLabels(p, q, unit, pText, qText) : null,
  ];
}

// The label of the lower value is inside its bar, if it is far enough below the higher one.
const APART = 12; // % of the picture's height

function GuessLabels(p: number, q: number, unit: number, pText: string, qText: string) {
  if (!qText) return Label("p", p * unit, pText, false);
  const [low, high] =
    p < q
      ? [
          ["p", p, pText],
          ["q", q, qText],
        ]
      : [
          ["q", q, qText],
          ["p", p, pText],
        ];
  const apart = Math.abs(p - q) * unit >= APART;
  return [
    Label(String(high[0]), Number(high[1]) * unit, String(high[2]), false),
    apart
      ? Label(String(low[0]), Number(low[1]) * unit, String(low[2]), false)
      : Label(String(low[0]), Number(high[1]) * unit + APART - 1, String(low[2]), false),
  ];
}

/** @param high Both in % of the picture. */
const Part = (name: string, from: number, high: number) => (
  <i
    class={"sv-part-" + name}
    style={{ bottom: from.toFixed(2) + "%", height: high.toFixed(2) + "%" }}
  />
);

const Label = (whose: string, at: number, text: ComponentChild, strong: boolean) => (
  <b
    class={classes("sv-col-value", "sv-col-value-" + whose, strong && "sv-strong")}
    style={{ bottom: at.toFixed(2) + "%" }}
  >
    {text}
  </b>
);
