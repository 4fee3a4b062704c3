// The picture of the subject: for each word the outline of p, inside it the accepted part min(p, q),
// above it the hatched part that is missing, and above p, dashed, what the drafter says too often.

import { classes, h, RunningToken } from "../shared/view.js";

/** @import { ComponentChild } from "preact" */
/** @import { LabelledRow } from "./simple_rows.js" */

const LEAST = 0.25; // the probability that fills the picture at least

/**
 * @param {LabelledRow[]} rows
 * @param {"p" | "parts" | "missing"} kind Whether only p is shown, or its parts, or its missing parts.
 */
export function Bars(rows, kind) {
  const highest = Math.max(LEAST, ...rows.map(({ p, q }) => (kind === "p" ? p : Math.max(p, q))));
  const unit = 100 / highest;
  return h(
    "div",
    {
      class: classes("sv-cols", "sv-cols-" + kind),
      role: "img",
      "aria-label": described(rows, kind),
    },
    rows.map((row, at) => Column(row, at, unit, kind)),
  );
}

/** @param {LabelledRow[]} rows @param {string} kind */
function described(rows, kind) {
  const words = rows.map(({ w, pText, qText, scaledText }) => {
    const name = w
      ? `‹${w.map((each) => (typeof each === "string" ? each : "")).join("")}›`
      : "others";
    if (kind === "missing") return `${name} ${scaledText} of what is missing`;
    return `${name} ${pText}${kind === "parts" && qText ? ", guessed " + qText : ""}`;
  });
  return "Target: " + words.join("; ");
}

/** @param {LabelledRow} row @param {number} at @param {number} unit @param {string} kind */
function Column(row, at, unit, kind) {
  const { w, is } = row;
  return h(
    "div",
    { key: at, class: classes("sv-col", is && "sv-col-" + is, !w && "sv-col-rest") },
    h(
      "div",
      { class: "sv-col-plot", "aria-hidden": "true" },
      kind === "p" ? PlainBar(row, unit) : PartBar(row, unit, kind),
    ),
    h("div", { class: "sv-col-word" }, w ? RunningToken(w) : "others"),
  );
}

/** @param {LabelledRow} row @param {number} unit */
const PlainBar = ({ p, pText, is }, unit) => [
  Part("whole", 0, p * unit),
  Label("p", p * unit, pText, is === "drawn"),
];

/** @param {LabelledRow} row @param {number} unit @param {string} kind */
function PartBar(row, unit, kind) {
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

/** @param {number} p @param {number} q @param {number} unit @param {string} pText @param {string} qText */
function GuessLabels(p, q, unit, pText, qText) {
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

/** @param {string} name @param {number} from @param {number} high Both in % of the picture. */
const Part = (name, from, high) =>
  h("i", {
    class: "sv-part-" + name,
    style: { bottom: from.toFixed(2) + "%", height: high.toFixed(2) + "%" },
  });

/** @param {string} whose @param {number} at @param {ComponentChild} text @param {boolean} strong */
const Label = (whose, at, text, strong) =>
  h(
    "b",
    {
      class: classes("sv-col-value", "sv-col-value-" + whose, strong && "sv-strong"),
      style: { bottom: at.toFixed(2) + "%" },
    },
    text,
  );
