// Which map is shown, and in which view.

import type { MapView, Measure, Row, ShownCell } from "../../../compare/domains/heatmap.py";

export type View = MapView & { badge: string; where: string; temperature?: string; live?: boolean };

export const shown: {
  views: View[];
  at: number;
  measure: Measure;
  sorted: { column: string | null; down: boolean };
  listed: string;
  here: { row: number; column: number };
} = {
  views: [], // recorded maps by temperature, then the live one
  at: 0, // index of the map that is shown
  measure: "speedup",
  sorted: { column: null, down: true },
  listed: "mean", // the column that a narrow screen lists
  here: { row: 0, column: 0 }, // the cell in the tab order
};

// On a narrow screen, only one column is listed.
export const narrow = matchMedia("(max-width: 760px)");

export const view = (): View => shown.views[shown.at];
export const cellOf = (row: Row, column: { name: string }): ShownCell | undefined =>
  view().cells[row.name + " " + column.name];
export const numberIn = (cell: ShownCell | undefined) =>
  cell ? parseFloat(cell[shown.measure][0]) : NaN;

export const listedColumn = () =>
  view().columns.find(({ name }) => name === shown.listed) ?? view().columns[0];

export function rowsInOrder() {
  const rows = view().rows.slice();
  const name = narrow.matches ? listedColumn().name : shown.sorted.column;
  if (name === null) return rows.sort((a, b) => Number(a.bound) - Number(b.bound));
  const turn = narrow.matches || shown.sorted.down ? -1 : 1;
  const value = (row: Row) => numberIn(cellOf(row, { name }));
  const missing = (row: Row) => Number(Number.isNaN(value(row)));
  return rows.sort(
    (a, b) =>
      Number(a.bound) - Number(b.bound) ||
      missing(a) - missing(b) ||
      turn * (value(a) - value(b)) ||
      0,
  );
}
