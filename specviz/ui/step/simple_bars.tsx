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
  const words = rows.map(({ w, pText, qText, missText }) => {
    const name = w
      ? `‹${w.map((each) => (typeof each === "string" ? each : "")).join("")}›`
      : "others";
    if (kind === "missing") return `${name} ${missText} missing`;
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
  const { p, both, over, miss, is, pText, missText } = row;
  const guess = is === "trial";
  return [
    over > 0 && guess ? Part("over", both * unit, over * unit) : null,
    Part("both", 0, both * unit),
    miss > 0 ? Part("miss", both * unit, miss * unit) : null,
    Part("outline", 0, p * unit),
    kind === "missing" && miss > 0 ? Label("r", p * unit, missText, is === "drawn") : null,
    kind === "parts" && !guess ? Label("p", p * unit, pText) : null,
    kind === "parts" && guess ? GuessLabels(row, unit) : null,
  ];
}

const LINE = 16; // % of the picture's height that a label needs

/** The labels of both p and q: the lower one is inside the bar, if there is enough space. */
function GuessLabels({ p, q, pText, qText }: LabelledRow, unit: number) {
  if (!qText) return Label("p", p * unit, pText);
  const labels: [string, number, string][] = [
    ["p", p * unit, pText],
    ["q", q * unit, qText],
  ];
  const [[lower, low, lowText], [upper, high, highText]] = p < q ? labels : labels.reverse();
  const inside = low >= LINE ? low - LINE : low;
  const fits = low >= LINE || high - low >= LINE;
  return [
    Label(upper, high, highText),
    fits
      ? Label(lower + " sv-col-inside", inside, lowText)
      : Label(lower, high + LINE - 3, lowText),
  ];
}

/** @param high Both in % of the picture. */
const Part = (name: string, from: number, high: number) => (
  <i
    class={"sv-part-" + name}
    style={{ bottom: from.toFixed(2) + "%", height: high.toFixed(2) + "%" }}
  />
);

const Label = (whose: string, at: number, text: ComponentChild, strong = false) => (
  <b
    class={classes("sv-col-value", "sv-col-value-" + whose, strong && "sv-strong")}
    style={{ bottom: at.toFixed(2) + "%" }}
  >
    {text}
  </b>
);
