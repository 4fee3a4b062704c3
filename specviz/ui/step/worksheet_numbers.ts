// The numbers of a worksheet: p and q are rounded, and all others are computed from the rounded
// ones, as a reader does. The fewest decimals are used with which this leads to what happened in the
// run.

import type { Draw } from "../../frames/draw.py";
import type { VerdictPanel } from "../../frames/inspector.py";
import type { Word } from "../../frames/scene.py";
import type { Table, TableRow } from "../../frames/table.py";

const FEWEST = 2; // decimals
const MOST = 6; // decimals of p and q, which the table has
const MOST_SCALED = 4; // decimals of the last column
const ROUNDING = 1e-4; // of sums of shares, which have six decimals
const APART = 0.006; // between a number of the last column, or the threshold, and that of the run

export type SheetRow = { row: TableRow; p: string; q: string; left: string; scaled: string };
/**
 * rows: In the order in which the last column is added up, then those with nothing to add.
 * places: Decimals of the threshold and the last column.
 * order: What is added up; a share without a word is that of others.
 * lo, hi: The interval of the replacement.
 */
export type SheetNumbers = {
  rows: SheetRow[];
  places: number;
  threshold: string;
  left: string;
  order: { w?: Word; share: string }[];
  lo: string;
  hi: string;
};

/** @param draw How the replacement was sampled, if it was. */
export function sheetNumbers(table: Table, panel: VerdictPanel, draw?: Draw): SheetNumbers {
  let found = compute(table, panel, draw, [FEWEST, FEWEST]);
  for (let digits = FEWEST; digits <= MOST; digits += 1) {
    for (let places = FEWEST; places <= Math.min(digits, MOST_SCALED); places += 1) {
      if (found.agrees) return found.numbers;
      found = compute(table, panel, draw, [digits, places]);
    }
  }
  return found.numbers;
}

// Whole numbers of the last decimal are added and subtracted without an error.
const units = (value: number, digits: number) => Math.round(value * 10 ** digits);

/** @param exact Whether 0 and 1 are exact, and not rounded. */
function textOf(value: number, digits: number, exact = true) {
  const share = value / 10 ** digits;
  return exact && (share === 0 || share === 1) ? String(share) : share.toFixed(digits);
}

const isExact = (value: number) => value === 0 || value === 1;

function compute(
  table: Table,
  panel: VerdictPanel,
  draw: Draw | undefined,
  [digits, places]: [digits: number, places: number],
) {
  const rows = residuals(table, digits);
  const missing = sum(rows.map(({ left }) => left));
  const scaled = (left: number) => (missing ? units(left / missing, places) : 0);
  const [guess] = rows.filter(({ row }) => row.is === "trial");
  const decimals = hasQ(table) ? places : digits;
  const threshold = hasQ(table) ? units(Math.min(1, guess.p / guess.q), places) : guess.p;
  const order = (draw?.text ? orderOf(table, draw) : []).map(({ w, share }) => {
    const known = rows.find(({ row }) => "w" in row && row.w === w);
    return { w, is: known?.row.is, share: known ? scaled(known.left) : units(share, places) };
  });
  const at = order.findIndex(({ is }) => is === "drawn");
  const [lo, hi] = [at, at + 1].map((end) =>
    sum(order.slice(0, Math.max(end, 0)).map(({ share }) => share)),
  );
  const u = Number(draw?.text?.u) * 10 ** places;
  const agrees =
    isVerdict(panel, threshold / 10 ** decimals) &&
    (isNothing(panel, missing) ||
      rows.every(({ row, left }) => Math.abs(scaled(left) / 10 ** places - row.m[3]) < APART)) &&
    (at < 0 || (lo <= u && u < hi));
  const numbers: SheetNumbers = {
    rows: rows.map(({ row, p, q, left }) => ({
      row,
      p: textOf(p, digits, isExact(row.m[0])),
      q: textOf(q, digits, isExact(row.m[1])),
      left: textOf(left, digits),
      scaled: textOf(scaled(left), places, left === 0 || left === missing),
    })),
    places,
    threshold: textOf(threshold, decimals),
    left: textOf(missing, digits),
    order: order.map(({ w, share }) => ({ w, share: textOf(share, places) })),
    lo: textOf(lo, places),
    hi: textOf(hi, places),
  };
  return { agrees, numbers };
}

/** Whether rounding leaves nothing of a residual, which an accepted guess does not need. */
const isNothing = ({ accepted }: VerdictPanel, missing: number) => accepted && missing === 0;

/** The rows with their residuals; that of all other tokens cannot be computed from their sums. */
function residuals(table: Table, digits: number) {
  return sorted(table.rows).map((row) => {
    const [p, q, above] = row.m.map((value) => units(value, digits));
    const without = row.is === "trial" ? 0 : p;
    const left = "rest" in row ? above : hasQ(table) ? Math.max(p - q, 0) : without;
    return { row, p, q, left };
  });
}

function sorted(rows: TableRow[]) {
  const place = (row: TableRow) => ("rest" in row ? 1 : -row.m[3]);
  return [...rows].sort((one, other) => place(one) - place(other));
}

/** Whether a threshold leads to the verdict; at temperature 0 there is no coin. */
function isVerdict(panel: VerdictPanel, threshold: number) {
  if (!panel.coin) return true;
  const near = Math.abs(threshold - panel.coin.threshold) < APART;
  return near && Number(panel.text.u) < threshold === panel.accepted;
}

/** Whether there is a column of q: the guess was sampled. */
export const hasQ = (table: Table) => table.heads.some((head) => head.of === "q");

const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);

/**
 * The words in the order in which a reader adds up the last column, each with its share: every row
 * with a share is in it, so they add up to 1; the strip on screen combines narrow ones. Tokens that
 * are not in the table are "others", without a word: those before the sampled word, then all that
 * remain.
 */
export function orderOf({ rows }: Pick<Table, "rows">, draw: Draw): { w?: Word; share: number }[] {
  const words = rows
    .filter((row) => "w" in row && row.m[3] > 0)
    .sort((one, other) => other.m[3] - one.m[3]);
  const at = words.findIndex((row) => row.is === "drawn");
  const hit = draw.shares.findIndex((share) => "hit" in share);
  const lo = sum(draw.shares.slice(0, hit).map((share) => share.m));
  const before = words.slice(0, at);
  const hidden = lo - sum(before.map((row) => row.m[3]));
  const shown = words.map((row) => ({ w: "w" in row ? row.w : undefined, share: row.m[3] }));
  if (hidden > ROUNDING) shown.splice(at, 0, { w: undefined, share: hidden });
  const rest = 1 - sum(shown.map(({ share }) => share));
  return rest > ROUNDING ? [...shown, { w: undefined, share: rest }] : shown;
}
