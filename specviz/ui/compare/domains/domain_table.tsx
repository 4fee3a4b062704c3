// The heat map: one table of buttons and cells. Numbers, shades and sentences come from the server.

import { classes } from "../../shared/view";
import { cellOf, shown, view } from "./shown";

import type { Column, Row } from "../../../compare/domains/heatmap.py";

/** The number of a cell with its marks; a dash if nothing was measured. */
export function CellContent(row: Row, column: Column) {
  const data = cellOf(row, column);
  if (!data)
    return [
      <span class="sv-domains-none">–</span>,
      <span class="sv-domains-spoken">{" not measured"}</span>,
    ];
  const [text, , marks] = data[shown.measure];
  return [
    marks.includes("slower") && [
      <span class="sv-domains-mark">▼</span>,
      <span class="sv-domains-spoken">{"slower: "}</span>,
    ],
    marks.includes("best") && <span class="sv-domains-mark">best</span>,
    <span class="sv-domains-number">{text}</span>,
    data.part && <span class="sv-domains-part">{data.part}</span>,
  ];
}

/**
 * The attributes of a cell: its position, its style, and whether it is in the tab order.
 * @param at The index of the row.
 * @param place The index of the column.
 */
export function cellAttributes(row: Row, column: Column, at: number, place: number) {
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
 * @param references The sentence.
 * @param columns The table's number, with that of the drafters' names.
 */
export function Bodies(
  rows: Row[],
  references: string,
  columns: number,
  draw: (row: Row, at: number) => import("preact").ComponentChild,
) {
  const bounds = rows.filter((row) => row.bound);
  const others = rows.length - bounds.length;
  return [
    <tbody>{rows.slice(0, others).map((row, at) => draw(row, at))}</tbody>,
    bounds.length > 0 && (
      <tbody>
        <tr key="sentence">
          <th class="sv-domains-between" colspan={columns} scope="rowgroup">
            <span>{references}</span>
          </th>
        </tr>
        {bounds.map((row, at) => draw(row, others + at))}
      </tbody>
    ),
  ];
}

function Head(title: string, column: string | null, sortBy: (column: string | null) => void) {
  const { column: sorted, down } = shown.sorted;
  const on = column !== null && sorted === column;
  const order = on ? (down ? "descending" : "ascending") : "none";
  const arrow = column !== null && (
    <span class="sv-domains-arrow" aria-hidden="true">
      {on ? (down ? "↓" : "↑") : ""}
    </span>
  );
  return (
    <th key={column} scope="col" aria-sort={column === null ? undefined : order}>
      <button type="button" onClick={() => sortBy(column)}>
        {arrow}
        {title}
      </button>
    </th>
  );
}

export function DomainTable(
  rows: Row[],
  references: string,
  sortBy: (column: string | null) => void,
) {
  const { columns } = view();
  return [
    <thead>
      <tr>
        {Head("Drafter", null, sortBy)}
        {columns.map(({ title, name }) => Head(title, name, sortBy))}
      </tr>
    </thead>,
    Bodies(rows, references, columns.length + 1, (row, at) => (
      <tr key={row.name}>
        <th scope="row">{row.title}</th>
        {columns.map((column, place) => (
          <td {...cellAttributes(row, column, at, place)}>{CellContent(row, column)}</td>
        ))}
      </tr>
    )),
  ];
}
