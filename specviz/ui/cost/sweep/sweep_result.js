// A sweep: a chart of marks and dashed lines, sentences, and all numbers as a table.

import { h } from "../../shared/view.js";
import { Plot } from "../shared/figure.js";

/** @import { VNode } from "preact" */
/** @import { SweepRow } from "../../../cost/sweep_text.py" */
/** @import { SweepData } from "./__init__.py" */

/** @type {[key: keyof SweepRow, title: string, name: string][]} */
const COLUMNS = [
  ["tokens", "tokens in the pass", ""],
  ["guesses", "draft tokens verified", ""],
  ["measured", "measured, ms", ""],
  ["middle", "middle 50%, ms", "sv-sweep-wide"],
  ["passes", "plain passes", ""],
  ["roofline", "roofline, ms", ""],
];
/** @type {("must" | "memory" | "gap" | "grows" | "caution" | "how")[]} */
const SENTENCES = ["must", "memory", "gap", "grows", "caution", "how"];
const KEYS = [
  ["mark", "measured: median and middle 50%"],
  ["dash", "roofline: simulated"],
  ["dots", "roofline + overhead of a plain pass: simulated"],
  ["level", "one plain pass"],
];

const Table = (/** @type {SweepRow[]} */ rows) =>
  h(
    "table",
    null,
    h(
      "caption",
      { class: "sv-unseen" },
      "Pass time by number of tokens: measured, and predicted by the roofline",
    ),
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        COLUMNS.map(([key, title, name]) =>
          h(
            "th",
            { class: name, scope: "col" },
            title,
            key === "roofline" && h("span", { class: "sv-sweep-simulated" }, "simulated"),
          ),
        ),
      ),
    ),
    h(
      "tbody",
      null,
      rows.map((row) =>
        h(
          "tr",
          { key: row.tokens },
          COLUMNS.map(([key, , name]) => h("td", { class: name }, String(row[key]))),
        ),
      ),
    ),
  );

/** @param {SweepData} sweep @param {VNode} pictures */
export const SweepResult = (sweep, pictures) => [
  h(
    "figure",
    { class: "sv-sweep-figure" },
    h("p", { class: "sv-sweep-where" }, sweep.where),
    h(
      "figcaption",
      { class: "sv-sweep-keys" },
      KEYS.map(([mark, text]) =>
        h("span", { class: "sv-sweep-key" }, h("i", { class: "sv-sweep-" + mark }), text),
      ),
    ),
    h(
      "div",
      { class: "sv-sweep-place" },
      Plot("sv-plot sv-sweep-plot", sweep.figure, { "aria-labelledby": "sv-sweep-answer" }),
    ),
  ),
  h(
    "div",
    { class: "sv-sweep-words" },
    h(
      "p",
      {
        class: "sv-sweep-answer" + (sweep.restless ? " sv-sweep-busy" : ""),
        id: "sv-sweep-answer",
      },
      sweep.answer,
    ),
    SENTENCES.map((name) =>
      h("p", { class: "sv-sweep-" + name, hidden: !sweep[name] }, sweep[name]),
    ),
  ),
  pictures,
  h(
    "details",
    { class: "sv-sweep-numbers" },
    h("summary", null, "All numbers"),
    h("div", { class: "sv-sweep-table" }, Table(sweep.rows)),
  ),
];
