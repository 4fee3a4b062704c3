// Results from a server's statistics: advice, charts, and tables of counted values.

import { h, HeadRow, TableRow } from "../../shared/view.js";
import { Plot } from "../shared/figure.js";

/** @import { ComponentChild } from "preact" */
/** @import { Answer, FigureName } from "./answer.py" */

const SIMULATED = h("span", { class: "sv-server-mark" }, "simulated");
const PLACES = ["Position", "Accepted, of all drafts", "Accepted, if all before were"];
const LENGTHS = ["Draft length", "Steps", "Mean accepted tokens"];
const KEYS = {
  places: [
    ["dot", "accepted, of all drafts"],
    ["open", "accepted, if all before were"],
  ],
  outlook: [
    ["line", "from counted acceptance"],
    ["broken", "from assumed acceptance"],
    ["dot", "your γ"],
    ["ring", "best γ"],
  ],
};

/** @param {Answer} answer */
export const Advice = ({ advice, open }) => [
  !open && [SIMULATED, " "],
  h("p", null, open || advice.join(" ")),
];

/** @param {string} title @param {ComponentChild} about @param {ComponentChild[]} content */
const Section = (title, about, ...content) =>
  h(
    "section",
    { key: title },
    h("h3", null, title, about && [" ", h("span", null, about)]),
    ...content,
  );

/** @param {Answer} answer @param {FigureName} name */
const Chart = ({ figures, descriptions }, name) => [
  Plot("sv-plot sv-server-plot", figures[name], {
    "data-figure": name,
    "aria-label": descriptions[name],
  }),
  h(
    "ul",
    { class: "sv-server-keys" },
    KEYS[name].map(([mark, text]) =>
      h("li", null, h("i", { class: "sv-server-key-" + mark }), text),
    ),
  ),
];

/** @param {string} name @param {string[][]} rows @param {string[]} [columns] */
const Table = (name, rows, columns) =>
  h(
    "table",
    { class: "sv-server-table " + name },
    columns && h("thead", null, HeadRow(columns)),
    h("tbody", null, rows.map(TableRow)),
  );

/**
 * A step: a column of its draft tokens, in which the accepted ones are filled from below.
 * @param {[number, number]} step @param {number} at
 */
const StepColumn = ([accepted, drafted], at) =>
  h(
    "i",
    { key: at, title: `Step ${at + 1}: ${accepted} of ${drafted} accepted` },
    Array.from({ length: drafted }, (_, place) =>
      h("b", { key: place, class: place < accepted ? "sv-server-kept" : undefined }),
    ),
  );

/** @param {Answer} answer */
const StepStrip = ({ steps, stepped }) => [
  h(
    "div",
    {
      class: "sv-server-strip",
      role: "img",
      "aria-label": steps.map(([accepted, drafted]) => `${accepted} of ${drafted}`).join(", "),
    },
    steps.map(StepColumn),
  ),
  stepped > steps.length &&
    h("p", { class: "sv-server-hint" }, `The first ${steps.length} of ${stepped} steps.`),
];

/** @param {Answer} answer */
export const ServerReport = (answer) => [
  answer.figures.places &&
    Section("Acceptance by position", "counted, with 95% intervals", Chart(answer, "places")),
  answer.figures.outlook &&
    Section("Speed-up by γ", ["over plain decoding, ", SIMULATED], Chart(answer, "outlook")),
  answer.stepped > 0 &&
    Section(
      "Step by step",
      "draft tokens of each step, accepted ones filled",
      StepStrip(answer),
      Table("sv-server-lengths", answer.lengths, LENGTHS),
    ),
  Section("Reported values", "", Table("sv-server-facts", answer.facts)),
  answer.figures.places &&
    Section(
      "By position",
      "share in %, with its 95% interval",
      Table("sv-server-places", answer.places, PLACES),
    ),
];
