// The published numbers, each with its source: filtered by family and sorted.

import { CardsTable, Cited, Lines, Stated } from "./cards_table";

import type { Column } from "./cards_table";
import type { PublishedData } from "./__init__.py";

export type Order = "family" | "high" | "low" | "evidence";
export const ORDERS: [Order, string][] = [
  ["family", "family"],
  ["high", "largest number first"],
  ["low", "smallest number first"],
  ["evidence", "kind of source"],
];

export const familiesOf = (rows: PublishedData[]) => [...new Set(rows.map((row) => row.method))];

// Acceptance percentages are not speed-ups, so they are always last.
export function sorted(rows: PublishedData[], order: Order, letters: string[]) {
  const families = familiesOf(rows);
  const last = (row: PublishedData) => Number(row.kind === "accepted");
  const by: Record<Order, (a: PublishedData, b: PublishedData) => number> = {
    family: (a, b) => families.indexOf(a.method) - families.indexOf(b.method),
    high: (a, b) => last(a) - last(b) || b.gain - a.gain,
    low: (a, b) => last(a) - last(b) || a.gain - b.gain,
    evidence: (a, b) => letters.indexOf(a.source.evidence) - letters.indexOf(b.source.evidence),
  };
  return [...rows].sort(by[order]);
}

const KINDS = { accepted: "accepted", slower: "", "speed-up": "speed-up" };

const fact = (name: "model" | "task" | "hardware" | "conditions"): Column<PublishedData> => [
  name,
  "",
  (row) => Stated(row[name], row.source.evidence),
];

/** @param here The row that a link led to. */
export function NumbersTable(
  rows: PublishedData[],
  meanings: Record<string, string>,
  here: string,
) {
  const columns: Column<PublishedData>[] = [
    ["method", "sv-headline-method", (row) => Lines(<b>{row.method}</b>, row.says)],
    [
      "reported",
      "sv-headline-number",
      (row) => (
        <span>
          <b>{row.number}</b>
          <small>{KINDS[row.kind]}</small>
        </span>
      ),
    ],
    fact("model"),
    fact("task"),
    fact("hardware"),
    fact("conditions"),
    ["source", "sv-headline-source", (row) => Cited(row.source, meanings)],
  ];
  return CardsTable("Published numbers, each with its source", columns, rows, here);
}
