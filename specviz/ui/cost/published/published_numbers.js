// The published numbers, each with its source: filtered by family and sorted.

import { h } from "../../shared/view.js";
import { CardsTable, Cited, Lines, Stated } from "./cards_table.js";

/** @import { Column } from "./cards_table.js" */
/** @import { PublishedData } from "./__init__.py" */

/** @typedef {"family" | "high" | "low" | "evidence"} Order */
/** @type {[Order, string][]} */
export const ORDERS = [
  ["family", "family"],
  ["high", "largest number first"],
  ["low", "smallest number first"],
  ["evidence", "kind of source"],
];

/** @param {PublishedData[]} rows */
export const familiesOf = (rows) => [...new Set(rows.map((row) => row.method))];

// Acceptance percentages are not speed-ups, so they are always last.
/** @param {PublishedData[]} rows @param {Order} order @param {string[]} letters */
export function sorted(rows, order, letters) {
  const families = familiesOf(rows);
  /** @param {PublishedData} row */
  const last = (row) => Number(row.kind === "accepted");
  /** @type {Record<Order, (a: PublishedData, b: PublishedData) => number>} */
  const by = {
    family: (a, b) => families.indexOf(a.method) - families.indexOf(b.method),
    high: (a, b) => last(a) - last(b) || b.gain - a.gain,
    low: (a, b) => last(a) - last(b) || a.gain - b.gain,
    evidence: (a, b) => letters.indexOf(a.source.evidence) - letters.indexOf(b.source.evidence),
  };
  return [...rows].sort(by[order]);
}

const KINDS = { accepted: "accepted", slower: "", "speed-up": "speed-up" };

/** @param {"model" | "task" | "hardware" | "conditions"} name @returns {Column<PublishedData>} */
const fact = (name) => [name, "", (row) => Stated(row[name], row.source.evidence)];

/** @param {PublishedData[]} rows @param {Record<string, string>} meanings @param {string} here The row that a link led to. */
export function NumbersTable(rows, meanings, here) {
  /** @type {Column<PublishedData>[]} */
  const columns = [
    ["method", "sv-headline-method", (row) => Lines(h("b", null, row.method), row.says)],
    [
      "reported",
      "sv-headline-number",
      (row) => h("span", null, h("b", null, row.number), h("small", null, KINDS[row.kind])),
    ],
    fact("model"),
    fact("task"),
    fact("hardware"),
    fact("conditions"),
    ["source", "sv-headline-source", (row) => Cited(row.source, meanings)],
  ];
  return CardsTable("Published numbers, each with its source", columns, rows, here);
}
