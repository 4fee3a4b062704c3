// The heat map: one table of buttons and cells. Numbers, shades and sentences come from the server.

import { classes, h } from "../../shared/view.js";
import { cellOf, shown, view } from "./shown.js";

/** @import { Column, Row } from "../../../compare/domains/heatmap.py" */

/**
 * The number of a cell with its marks; a dash if nothing was measured.
 * @param {Row} row @param {Column} column
 */
export function CellContent(row, column) {
  const data = cellOf(row, column);
  if (!data)
    return [
      h("span", { class: "sv-domains-none" }, "–"),
      h("span", { class: "sv-domains-spoken" }, " not measured"),
    ];
  const [text, , marks] = data[shown.measure];
  return [
    marks.includes("slower") && [
      h("span", { class: "sv-domains-mark" }, "▼"),
      h("span", { class: "sv-domains-spoken" }, "slower: "),
    ],
    marks.includes("best") && h("span", { class: "sv-domains-mark" }, "best"),
    h("span", { class: "sv-domains-number" }, text),
    data.part && h("span", { class: "sv-domains-part" }, data.part),
  ];
}

/**
 * The attributes of a cell: its position, its style, and whether it is in the tab order.
 * @param {Row} row @param {Column} column @param {number} at The index of the row. @param {number} place The index of the column.
 */
export function cellAttributes(row, column, at, place) {
  const [, shade, marks] = cellOf(row, column)?.[shown.measure] ?? ["", 0, ""];
  return {
    key: column.name,
    class: classes(
      column.name === "mean" && "sv-domains-mean",
      marks.includes("slower") && "sv-domains-slower",
      marks.includes("best") && "sv-domains-best",
    ),
    style: { "--shade": String(shade) },
    tabindex: at === shown.here.row && place === shown.here.column ? 0 : -1,
    "data-row": at,
    "data-column": place,
  };
}

/**
 * The rows of drafters; those that are only references are at the bottom, under a sentence.
 * @param {Row[]} rows
 * @param {string} references The sentence.
 * @param {number} columns The table's number, with that of the drafters' names.
 * @param {(row: Row, at: number) => import("preact").ComponentChild} draw
 */
export function Bodies(rows, references, columns, draw) {
  const bounds = rows.filter((row) => row.bound);
  const others = rows.length - bounds.length;
  return [
    h(
      "tbody",
      null,
      rows.slice(0, others).map((row, at) => draw(row, at)),
    ),
    bounds.length > 0 &&
      h(
        "tbody",
        null,
        h(
          "tr",
          { key: "sentence" },
          h(
            "th",
            { class: "sv-domains-between", colspan: columns, scope: "rowgroup" },
            h("span", null, references),
          ),
        ),
        bounds.map((row, at) => draw(row, others + at)),
      ),
  ];
}

/** @param {string} title @param {string | null} column @param {(column: string | null) => void} sortBy */
function Head(title, column, sortBy) {
  const { column: sorted, down } = shown.sorted;
  const on = column !== null && sorted === column;
  const order = on ? (down ? "descending" : "ascending") : "none";
  const arrow =
    column !== null &&
    h("span", { class: "sv-domains-arrow", "aria-hidden": "true" }, on ? (down ? "↓" : "↑") : "");
  return h(
    "th",
    { key: column, scope: "col", "aria-sort": column === null ? undefined : order },
    h("button", { type: "button", onClick: () => sortBy(column) }, arrow, title),
  );
}

/** @param {Row[]} rows @param {string} references @param {(column: string | null) => void} sortBy */
export function DomainTable(rows, references, sortBy) {
  const { columns } = view();
  return [
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        Head("Drafter", null, sortBy),
        columns.map(({ title, name }) => Head(title, name, sortBy)),
      ),
    ),
    Bodies(rows, references, columns.length + 1, (row, at) =>
      h(
        "tr",
        { key: row.name },
        h("th", { scope: "row" }, row.title),
        columns.map((column, place) =>
          h("td", cellAttributes(row, column, at, place), CellContent(row, column)),
        ),
      ),
    ),
  ];
}
