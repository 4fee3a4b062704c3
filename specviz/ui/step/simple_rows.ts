// The rows of a distribution that the picture shows. All others are summed into one row, with their
// own p, q, min(p, q) and residual, so that what is shown adds up.

import { apportioned, decimalsOf, percentText } from "./percents";
import { sum } from "./simple_times";

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
export type LabelledRow = Row & {
  pText: string;
  qText: string;
  missText: string;
  overText: string;
};

/** Percentages of a sentence, by what they are. */
export type Said = Partial<Record<"p" | "q" | "residual", string>>;

const ROUNDED = 3e-6; // numbers of the table are rounded to six decimals

function rowOf(row: TableRow): Row {
  const [p, q, miss] = row.m;
  const both = Math.max(0, p - miss);
  const w = "w" in row ? (row as TokenRow).w : null;
  const over = q - both > ROUNDED ? q - both : 0;
  return { w, is: row.is ?? "", p, q, both, over, miss };
}

const added = (sum: Row, row: Row): Row => ({
  w: null,
  is: sum.is || row.is,
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
 * Return the rows of a table with percentages; those that the sentence has are as there.
 * @param said The guess's probabilities and what is missing, as the sentence says them.
 * @param sampled Whether the guess was sampled from q; otherwise q is 1 for it.
 */
export function tableRows(table: Table, said: Said, most: number, sampled: boolean): LabelledRow[] {
  const rows = folded(table.rows.map(rowOf), most);
  const decimals = decimalsOf(said.residual ?? "");
  const texts = (name: "p" | "q" | "miss" | "over", whole?: number, ofGuess?: string) =>
    apportioned(
      rows.map((row) => ({ value: row[name], text: row.is === "trial" ? ofGuess : undefined })),
      whole,
      decimals,
    );
  // All that is discarded is as much as all that is missing; of the guess it is q − p.
  const missing = said.residual
    ? parseFloat(said.residual)
    : 100 * sum(rows.map(({ miss }) => miss));
  const guess = rows.find(({ is }) => is === "trial");
  const discarded = guess && (100 * guess.over).toFixed(decimals) + " %";
  const p = texts("p", 100, said.p);
  const q = sampled ? texts("q", 100, said.q) : rows.map(() => "");
  const miss = texts("miss", missing);
  const over = said.residual ? texts("over", missing, discarded) : rows.map(() => "");
  return rows.map((row, at) => ({
    ...row,
    pText: p[at],
    qText: q[at],
    missText: miss[at],
    overText: over[at],
  }));
}

/** Return the row of a guess that was not judged yet. */
export const guessRow = ({ w, q = 0 }: { w: Word; q?: number }): LabelledRow => ({
  ...NONE,
  w,
  q,
  pText: "",
  qText: percentText(q),
  missText: "",
  overText: "",
});

/** Return the rows of a distribution that a word is drawn from. */
export function shareRows(shares: Share[], most: number): LabelledRow[] {
  const rows = folded(
    shares.map((share) => ({
      ...NONE,
      w: share.w ?? null,
      is: share.hit ? "drawn" : "",
      p: share.m,
    })),
    most,
  );
  const texts = apportioned(rows.map(({ p }) => ({ value: p })));
  return rows.map((row, at) => ({
    ...row,
    pText: texts[at],
    qText: "",
    missText: "",
    overText: "",
  }));
}
