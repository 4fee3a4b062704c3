// The picture of the subject: for each word the outline of p, inside it the accepted part min(p, q),
// above it the hatched part that is missing, and above p, dashed, what the drafter says too often.

import { classes, RunningToken } from "../shared/view";
import { decimalsOf } from "./percents";

import type { ComponentChild } from "preact";
import type { Word } from "../../frames/scene.py";
import type { barControls } from "./simple_drag";
import type { LabelledRow } from "./simple_rows";

const EXACT = 1e-4; // the table's rounding, in per cent
export const LEAST = 0.25; // the probability that fills the picture at least

/** What the bars show: only p, only q, the parts of p, or its missing parts. */
type Kind = "p" | "q" | "parts" | "missing";

/**
 * Return the height of a probability of 1, in % of the picture. In the row of all others, p has what
 * is said too often on top: it is not the same words that are said too rarely.
 */
export function unitOf(rows: LabelledRow[], kind: Kind) {
  if (kind === "q") return 100;
  const highest = Math.max(LEAST, ...rows.map(({ p, over }) => (kind === "p" ? p : p + over)));
  return 100 / highest;
}

/** @param controls The attributes with which the bars are dragged. */
export function Bars(
  rows: LabelledRow[],
  kind: Kind,
  unit: number = unitOf(rows, kind),
  controls?: ReturnType<typeof barControls>,
) {
  return (
    <div
      class={classes("sv-cols", "sv-cols-" + kind, controls && "sv-cols-movable")}
      role="img"
      aria-label={described(rows, kind)}
      {...controls}
    >
      {rows.map((row, at) => Column(row, at, unit, kind))}
    </div>
  );
}

/** The letters of a word, for names that are read aloud. */
export const lettersOf = (w: Word) =>
  w.map((each) => (typeof each === "string" ? each : "")).join("");

function described(rows: LabelledRow[], kind: string) {
  const words = rows.map(({ w, pText, qText, missText }) => {
    const name = w ? `‹${lettersOf(w)}›` : "others";
    if (kind === "q") return `${name} ${qText}`;
    if (kind === "missing") return `${name} ${missText} missing`;
    return `${name} ${pText}${kind === "parts" && qText ? ", guessed " + qText : ""}`;
  });
  return (kind === "q" ? "Guesses: " : "Target: ") + words.join("; ");
}

function Column(row: LabelledRow, at: number, unit: number, kind: string) {
  const { w, is } = row;
  return (
    <div key={at} class={classes("sv-col", is && "sv-col-" + is, !w && "sv-col-rest")}>
      <div class="sv-col-plot" aria-hidden="true">
        {kind === "p" || kind === "q" ? PlainBar(row, unit, kind) : PartBar(row, unit, kind)}
      </div>
      <div class={classes("sv-col-word", w && lettersOf(w).length > 8 && "sv-col-long")}>
        {w ? RunningToken(w) : "others"}
      </div>
    </div>
  );
}

const PlainBar = (row: LabelledRow, unit: number, kind: "p" | "q") => [
  Part("whole", 0, row[kind] * unit),
  Label(kind, row[kind] * unit, row[`${kind}Text`], row.is === "drawn"),
];

function PartBar(row: LabelledRow, unit: number, kind: string) {
  const { p, both, over, miss, is, pText } = row;
  const inside = over * unit >= LINE / 4; // or else it would seem to be the height of both
  const labels =
    kind === "missing"
      ? Differences(row, unit)
      : is === "trial"
        ? GuessLabels(row, unit)
        : Label(inside ? "p sv-col-inside" : "p", (inside ? p : p + over) * unit, pText);
  return [
    over > 0 ? Part("over", p * unit, over * unit) : null,
    Part("both", 0, both * unit),
    miss > 0 ? Part("miss", both * unit, miss * unit) : null,
    Part("outline", 0, p * unit),
    labels,
  ];
}

/** The labels of what is discarded and of what is missing: from how often it was guessed to p. */
function Differences(row: LabelledRow, unit: number) {
  const { w, p, q, over, miss, is, pText, missText, overText } = row;
  const both = w && miss > 0 ? difference(pText, missText, q) : "";
  const guessed = w && over > 0 ? difference(pText, "-" + overText, q) : "";
  const fits = is === "trial" && p * unit >= LINE;
  return [
    fits ? Label("p sv-col-inside sv-col-below", p * unit, pText) : null,
    miss > 0 ? Label("r", p * unit, Change(both, "+", missText), is === "drawn") : null,
    over > 0
      ? Label(
          miss > 0 && over * unit < LINE ? "q sv-col-upper" : "q",
          (p + over) * unit,
          Change(guessed, "−", overText),
        )
      : null,
  ];
}

/** @param from How often the word was guessed; "" if that is not known exactly enough. */
function Change(from: string, sign: "+" | "−", by: string): ComponentChild {
  if (/^(<|0 )/.test(by)) return by;
  return from ? [<span class="sv-col-guessed">{from}</span>, ` ${sign} ${by}`] : sign + by;
}

/**
 * Return the difference of two percentages as they are shown, without the sign; "" if it is not q
 * rounded, as they were rounded so that others add up.
 */
function difference(one: string, other: string, q: number) {
  const [from, by] = [one, other].map((text) => Number(text.replace(" %", "")));
  const decimals = Math.max(decimalsOf(one), decimalsOf(other));
  const exact = Math.abs(from - by - 100 * q) <= 0.5 / 10 ** decimals + EXACT;
  return exact ? (from - by).toFixed(decimals) : "";
}

const LINE = 24; // % of the picture's height that a label needs

/** The labels of both p and q: the lower one is inside the bar, or else under the higher one. */
function GuessLabels({ p, q, pText, qText }: LabelledRow, unit: number) {
  if (!qText) return Label("p", p * unit, pText);
  const labels: [string, number, string][] = [
    ["p", p * unit, pText],
    ["q", q * unit, qText],
  ];
  const [[lower, low, lowText], [upper, high, highText]] = p < q ? labels : labels.reverse();
  const fits = low >= LINE || high - low >= LINE;
  const place = low >= LINE ? " sv-col-inside sv-col-below" : " sv-col-inside";
  return [
    Label(fits ? upper : upper + " sv-col-upper", high, highText),
    fits ? Label(lower + place, low, lowText) : Label(lower, high, lowText),
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
