// The order in which the reader of a worksheet adds up the last column of its table. Every row with a
// share is in it, so the shares add up to 1; the strip on screen combines narrow shares instead.

import type { Draw } from "../../frames/draw.py";
import type { Word } from "../../frames/scene.py";
import type { Table } from "../../frames/table.py";

const ROUNDING = 1e-4; // of sums of shares, which have six decimals

/**
 * The words in the order of their shares, each with its share. Tokens that are not in the table are
 * "others", without a word: those before the sampled word, then all that remain.
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

const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
