// Which map is shown, and how.

/** @import { Cell, Measure, Place, Row, View } from "./data.js" */

/**
 * @type {{
 *   views: View[],
 *   at: number,
 *   measure: Measure,
 *   sorted: { column: string | null, down: boolean },
 *   here: Place,
 * }}
 */
export const shown = {
  views: [], // recorded maps by temperature, then the live one
  at: 0, // index of the one shown
  measure: "speedup",
  sorted: { column: null, down: true },
  here: { row: 0, column: 0 }, // the cell that Tab focuses
};

/** @returns {View} */
export const view = () => shown.views[shown.at];
/** @param {Row} row @param {{ name: string }} column @returns {Cell | undefined} */
export const cellOf = (row, column) => view().cells[row.name + " " + column.name];
/** @param {Cell | undefined} cell */
const number = (cell) => (cell ? parseFloat(cell[shown.measure][0]) : NaN);

export function rowsInOrder() {
  const rows = view().rows.slice();
  if (shown.sorted.column === null) return rows.sort((a, b) => Number(a.bound) - Number(b.bound));
  const column = { name: shown.sorted.column };
  /** @param {Row} row */
  const value = (row) => number(cellOf(row, column));
  /** @param {Row} row */
  const missing = (row) => Number(Number.isNaN(value(row)));
  const turn = shown.sorted.down ? -1 : 1;
  return rows.sort(
    (a, b) =>
      Number(a.bound) - Number(b.bound) ||
      missing(a) - missing(b) ||
      turn * (value(a) - value(b)) ||
      0,
  );
}
