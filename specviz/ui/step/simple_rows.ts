// The rows of a distribution that the picture shows. All others are summed into one row, with their
// own p, q, min(p, q) and residual, so that what is shown adds up.

import { apportioned, percentOf } from "./percents";

import type { TokenRow, TableRow, Table } from "../../frames/table.py";
import type { Share } from "../../frames/draw.py";
import type { Word } from "../../frames/scene.py";
/**
 * A word of the picture, or all others (w is null). over: q above p. miss: p above q.
 */
export type Row = {
  w: Word | null;
  is: "trial" | "drawn" | "";
  p: number;
  q: number;
  both: number;
  over: number;
  miss: number;
};
export type LabelledRow = Row & { pText: string; qText: string; missText: string };

function rowOf(row: TableRow): Row {
  const [p, q, miss] = row.m;
  const both = Math.max(0, p - miss);
  const w = "w" in row ? (row as TokenRow).w : null;
  return { w, is: row.is ?? "", p, q, both, over: Math.max(0, q - both), miss };
}

const added = (sum: Row, row: Row): Row => ({
  w: null,
  is: "",
  p: sum.p + row.p,
  q: sum.q + row.q,
  both: sum.both + row.both,
  over: sum.over + row.over,
  miss: sum.miss + row.miss,
});

const NONE: Row = { w: null, is: "", p: 0, q: 0, both: 0, over: 0, miss: 0 };

/**
 * Return the most important rows, the largest first, and then all others in one. The drawn word joins
 * them where it is not among them, so that a decision and its replacement show the same words.
 */
export function folded(rows: Row[], most: number): Row[] {
  const named = rows.filter(({ w }) => w !== null);
  const rank = (row: Row) => (row.is === "trial" ? 2 : 0) + Math.max(row.p, row.q);
  const kept = [...named].sort((a, b) => rank(b) - rank(a)).slice(0, most - 1);
  kept.push(...named.filter((row) => row.is === "drawn" && !kept.includes(row)));
  const left = rows.filter((row) => !kept.includes(row));
  kept.sort((a, b) => Math.max(b.p, b.q) - Math.max(a.p, a.q));
  return left.length ? [...kept, left.reduce(added, NONE)] : kept;
}

/**
 * Return the rows of a table with percentages; those of the guess are given, as in the sentence.
 * @param texts The guess's probabilities as they are shown.
 * @param sampled Whether the guess was sampled from q; otherwise q is 1 for it.
 */
export function tableRows(
  table: Table,
  texts: Partial<Record<"p" | "q", string>>,
  most: number,
  sampled: boolean,
): LabelledRow[] {
  const rows = folded(table.rows.map(rowOf), most);
  const text = (name: "p" | "q") => {
    const shown = texts[name];
    return shown === undefined ? undefined : percentOf(shown);
  };
  const shares = (name: "p" | "q") =>
    apportioned(
      rows.map((row) => ({ value: row[name], text: row.is === "trial" ? text(name) : undefined })),
    );
  const whole = Math.round(100 * rows.reduce((sum, { miss }) => sum + miss, 0));
  const missing = apportioned(
    rows.map(({ miss }) => ({ value: miss })),
    whole,
  );
  const p = shares("p");
  const q = sampled ? shares("q") : rows.map(() => "");
  return rows.map((row, at) => ({ ...row, pText: p[at], qText: q[at], missText: missing[at] }));
}

/** Return the rows of a distribution that a word is drawn from. */
export function shareRows(shares: Share[], most: number): LabelledRow[] {
  const rows = folded(
    shares.map((share) => ({
      ...NONE,
      w: share.w ?? null,
      is: "hit" in share ? "drawn" : "",
      p: share.m,
    })),
    most,
  );
  const texts = apportioned(rows.map(({ p }) => ({ value: p })));
  return rows.map((row, at) => ({ ...row, pText: texts[at], qText: "", missText: "" }));
}
