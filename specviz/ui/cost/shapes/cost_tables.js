// Measured costs as tables: a round of each drafter, and passes by their number of tokens.

import { h, HeadRow } from "../../shared/view.js";

/** @import { ComponentChild } from "preact" */
/** @import { DrafterRow } from "../../../cost/measured_costs_text.py" */
/** @import { PassRow } from "./__init__.py" */

/** @type {[title: string, simulated: boolean, cell: (row: DrafterRow) => ComponentChild][]} */
const COLUMNS = [
  ["drafter", false, (row) => [h("b", null, row.title), h("small", null, row.about)]],
  ["drafting", false, (row) => h("span", null, row.draft + " ms", h("small", null, row.middle))],
  ["in plain passes", false, (row) => row.share],
  ["c, per level", false, (row) => row.level],
  ["verification", false, (row) => row.check],
  ["acceptance", false, (row) => row.rest],
  ["whole round", false, (row) => row.whole],
  ["pays from α", true, (row) => row.even],
  [
    "speed-up at this α",
    true,
    (row) => h("b", { class: row.gains ? "" : "sv-shapes-slower" }, row.speedup),
  ],
];
/** @type {[title: string, simulated: boolean][]} */
const PASSES = [
  ["tokens in the pass", false],
  ["measured, ms", false],
  ["plain passes", false],
  ["roofline, ms", true],
];

/** @param {[title: string, simulated: boolean, ...more: unknown[]]} column */
const ColumnTitle = ([title, simulated]) => [
  title,
  simulated && [" ", h("span", { class: "sv-shapes-simulated" }, "simulated")],
];

/**
 * @param {string} caption
 * @param {[title: string, simulated: boolean, ...more: unknown[]][]} columns
 * @param {ComponentChild} rows
 */
const Table = (caption, columns, rows) =>
  h(
    "table",
    null,
    h("caption", { class: "sv-unseen" }, caption),
    h("thead", null, HeadRow(columns.map(ColumnTitle))),
    h("tbody", null, rows),
  );

/** @param {DrafterRow} row */
const Cells = (row) =>
  COLUMNS.map(([title, simulated, cell], at) =>
    h(
      at ? "td" : "th",
      { scope: at ? undefined : "row", "data-label": title + (simulated ? ", simulated" : "") },
      cell(row),
    ),
  );

/** @param {DrafterRow[]} rows */
export const DrafterTable = (rows) =>
  Table(
    "What a round costs, by drafter",
    COLUMNS,
    rows.map((row) => h("tr", { key: row.title }, Cells(row))),
  );

/** @param {PassRow[]} rows */
export const PassTable = (rows) =>
  Table(
    "Pass time by number of tokens",
    PASSES,
    rows.map((row) =>
      h(
        "tr",
        { key: row[0] },
        row.map((text) => h("td", null, text)),
      ),
    ),
  );
