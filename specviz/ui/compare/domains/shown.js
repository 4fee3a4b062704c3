// Which map is shown, and how.

export const shown = {
  views: [], // recorded maps by temperature; a live one comes last
  at: 0, // which of them
  measure: "speedup",
  sorted: { column: null, down: true },
  here: { row: 0, column: 0 }, // the one cell that Tab reaches
};

export const view = () => shown.views[shown.at];
export const cellOf = (row, column) => view().cells[row.name + " " + column.name];
const number = (cell) => (cell ? parseFloat(cell[shown.measure][0]) : NaN);

export function rowsInOrder() {
  const rows = view().rows.slice();
  if (shown.sorted.column === null) return rows.sort((a, b) => a.bound - b.bound);
  const column = { name: shown.sorted.column };
  const value = (row) => number(cellOf(row, column));
  const missing = (row) => Number(Number.isNaN(value(row)));
  const turn = shown.sorted.down ? -1 : 1;
  return rows.sort(
    (a, b) => a.bound - b.bound || missing(a) - missing(b) || turn * (value(a) - value(b)) || 0,
  );
}
