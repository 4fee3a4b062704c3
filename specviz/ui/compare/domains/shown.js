// Which map is shown, and how.

export const shown = {
  views: [], // recorded maps by temperature; a live one comes last
  at: 0, // which of them
  measure: "speedup",
  sorted: { column: null, down: true },
  here: { row: 0, column: 0 }, // the one cell that Tab reaches
};
