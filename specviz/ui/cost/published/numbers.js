// The published numbers: filtered by family, sorted, each with its source.

import { el } from "../../shared/dom.js";
import { $, stage } from "./stage.js";
import { cited, lines, read, saying, tabled } from "./table.js";

/** @import { Column, Option, Published } from "./data.js" */

/** @type {Option[]} */
export const ORDERS = [
  ["family", "family"],
  ["high", "largest number first"],
  ["low", "smallest number first"],
  ["evidence", "kind of source"],
];
const letters = () => stage.config.evidence.map(([letter]) => letter);
/** @type {Column<Published & { slower: boolean }>[]} */
const COLUMNS = [
  ["method", "sv-headline-method", (row) => lines(el("b", "", row.method), row.says)],
  [
    "reported",
    "sv-headline-number",
    (row) =>
      el(
        "span",
        "",
        el("b", "", row.number),
        el("small", "", row.kind === "accepted" ? "accepted" : row.slower ? "" : "speed-up"),
      ),
  ],
  ["model", "", (row) => saying(row.model, row.source.evidence)],
  ["task", "", (row) => saying(row.task, row.source.evidence)],
  ["hardware", "", (row) => saying(row.hardware, row.source.evidence)],
  ["conditions", "", (row) => saying(row.conditions, row.source.evidence)],
  ["source", "sv-headline-source", (row) => cited(row.source)],
];

export const families = () => [...new Set(stage.config.rows.map((row) => row.method))];

/** @param {string} selector */
function picked(selector) {
  /** @type {HTMLSelectElement} */
  const select = $(selector);
  return select.value;
}

function chosen() {
  const family = picked(".sv-headline-family");
  const rows = stage.config.rows.filter((row) => !family || row.method === family);
  return sorted(rows, picked(".sv-headline-sort")).map((row) => ({
    ...row,
    slower: row.kind === "slower",
  }));
}

// Acceptance percentages are not speed-ups, so they always come last.
/** @param {Published[]} rows @param {string} order */
function sorted(rows, order) {
  const all = families();
  /** @param {Published} row */
  const last = (row) => (row.kind === "accepted" ? 1 : 0);
  /** @type {Record<string, (a: Published, b: Published) => number>} */
  const by = {
    family: (a, b) => all.indexOf(a.method) - all.indexOf(b.method),
    high: (a, b) => last(a) - last(b) || b.gain - a.gain,
    low: (a, b) => last(a) - last(b) || a.gain - b.gain,
    evidence: (a, b) => letters().indexOf(a.source.evidence) - letters().indexOf(b.source.evidence),
  };
  return [...rows].sort(by[order] || by.family);
}

export function published() {
  const rows = chosen();
  $(".sv-headline-table").replaceChildren(
    tabled("Published numbers, each with its source", COLUMNS, rows),
  );
  $(".sv-headline-count").textContent =
    rows.length + " of " + stage.config.rows.length + " numbers";
}

export function evidence() {
  const used = letters().filter((letter) =>
    stage.config.rows.some((row) => row.source.evidence === letter),
  );
  const pairs = used.map((letter) =>
    el("div", "", el("dt", "sv-headline-letter", letter), el("dd", "", read(letter))),
  );
  $(".sv-headline-evidence").replaceChildren(...pairs);
}
