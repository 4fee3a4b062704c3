// The rows of a distribution that the picture shows. All others are summed into one row, with their
// own p, q, min(p, q) and residual, so that what is shown adds up.

import { apportioned, percentOf } from "./percents.js";

/** @import { TokenRow, TableRow, Table } from "../../frames/table.py" */
/** @import { Share } from "../../frames/draw.py" */
/** @import { Word } from "../../frames/scene.py" */
/**
 * A word of the picture, or all others (w is null). over: q above p. miss: p above q. scaled: miss,
 * scaled so that all sum to 1.
 * @typedef {{
 *   w: Word | null, is: "trial" | "drawn" | "",
 *   p: number, q: number, both: number, over: number, miss: number, scaled: number,
 * }} Row
 */
/** @typedef {Row & { pText: string, qText: string, scaledText: string }} LabelledRow */

/** @param {TableRow} row @returns {Row} */
function rowOf(row) {
  const [p, q, miss, scaled] = row.m;
  const both = Math.max(0, p - miss);
  const w = "w" in row ? /** @type {TokenRow} */ (row).w : null;
  return { w, is: row.is ?? "", p, q, both, over: Math.max(0, q - both), miss, scaled };
}

/** @param {Row} sum @param {Row} row @returns {Row} */
const added = (sum, row) => ({
  w: null,
  is: "",
  p: sum.p + row.p,
  q: sum.q + row.q,
  both: sum.both + row.both,
  over: sum.over + row.over,
  miss: sum.miss + row.miss,
  scaled: sum.scaled + row.scaled,
});

/** @type {Row} */
const NONE = { w: null, is: "", p: 0, q: 0, both: 0, over: 0, miss: 0, scaled: 0 };

/**
 * Return the most important rows, the largest first, and then all others in one.
 * @param {Row[]} rows
 * @param {number} most
 * @returns {Row[]}
 */
export function folded(rows, most) {
  const named = rows.filter(({ w }) => w !== null);
  const rank = (/** @type {Row} */ row) => (row.is ? 2 : 0) + Math.max(row.p, row.q);
  const kept = [...named].sort((a, b) => rank(b) - rank(a)).slice(0, most - 1);
  const left = rows.filter((row) => !kept.includes(row));
  kept.sort((a, b) => Math.max(b.p, b.q) - Math.max(a.p, a.q));
  return left.length ? [...kept, left.reduce(added, NONE)] : kept;
}

/**
 * Return the rows of a table with percentages; those of the guess are given, as in the sentence.
 * @param {Table} table
 * @param {Partial<Record<"p" | "q", string>>} texts The guess's probabilities as they are shown.
 * @param {number} most
 * @param {boolean} sampled Whether the guess was sampled from q; otherwise q is 1 for it.
 * @returns {LabelledRow[]}
 */
export function tableRows(table, texts, most, sampled) {
  const rows = folded(table.rows.map(rowOf), most);
  const text = (/** @type {"p" | "q"} */ name) => {
    const shown = texts[name];
    return shown === undefined ? undefined : percentOf(shown);
  };
  const shares = (/** @type {"p" | "q"} */ name) =>
    apportioned(
      rows.map((row) => ({ value: row[name], text: row.is === "trial" ? text(name) : undefined })),
    );
  const [p, scaled] = [shares("p"), apportioned(rows.map(({ scaled }) => ({ value: scaled })))];
  const q = sampled ? shares("q") : rows.map(() => "");
  return rows.map((row, at) => ({ ...row, pText: p[at], qText: q[at], scaledText: scaled[at] }));
}

/**
 * Return the rows of a distribution that a word is drawn from.
 * @param {Share[]} shares
 * @param {number} most
 * @returns {LabelledRow[]}
 */
export function shareRows(shares, most) {
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
  return rows.map((row, at) => ({ ...row, pText: texts[at], qText: "", scaledText: "" }));
}
