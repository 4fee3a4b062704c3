// An output distribution as columns, with the outline of p, and the words below.

import { flat, percent } from "./dom";
import { classes, Token } from "./view";

import type { Word } from "../../frames/scene.py";

export interface Columns {
  words: Word[];
  p: number[];
  /** The parts of the columns, the lowest first; by word. */
  parts: [kind: string, shares: number[]][];
  /** The probability of a full column. */
  scale?: number;
  digits?: number;
  /** A larger difference from p is marked. */
  tolerance?: number;
  /** Its class. */
  name?: string;
}

const LOWEST = 0.2; // minimum probability of a full column
const ROOM = 1.15; // space for numbers above the tallest column
const INSIDE = 0.2; // space, as a share of a full column, in which a number fits below the outline

/** Return the style of the grid, which has as many columns as words. */
export const gridStyle = (words: unknown[]) => ({ "--sv-sand-many": String(words.length) });

export const WordRow = (words: Word[], name = "") => (
  <div class={classes("sv-sand-words", name)} style={gridStyle(words)}>
    {words.map((word) => (
      <span>{Token(word)}</span>
    ))}
  </div>
);

export function OutputColumns({ words, p, parts, digits = 3, tolerance = 1, ...look }: Columns) {
  const totals = p.map((_, at) => parts.reduce((sum, [, shares]) => sum + shares[at], 0));
  const { scale = Math.min(1, Math.max(LOWEST, ROOM * Math.max(...p, ...totals))) } = look;
  const height = (share: number) => percent(Math.min(1, share / scale));
  const column = (at: number) => {
    const top = p[at] - totals[at] > INSIDE * scale ? totals[at] : Math.max(totals[at], p[at]);
    const off = Math.abs(totals[at] - p[at]) > tolerance;
    return (
      <div class={classes("sv-sand-column", off && "sv-sand-off")}>
        {Stack(parts, at, height)}
        <i class="sv-sand-outline" style={{ height: height(p[at]) }} />
        <b style={{ bottom: height(top) }}>{totals[at].toFixed(digits)}</b>
      </div>
    );
  };
  const spoken = words.map((word, at) => flat(word) + " " + totals[at].toFixed(3));
  return (
    <div
      class={classes("sv-sand-bars", look.name)}
      role="img"
      aria-label={"Output: " + spoken.join(", ")}
      style={gridStyle(words)}
    >
      {p.map((_, at) => column(at))}
    </div>
  );
}

function Stack(parts: Columns["parts"], at: number, height: (share: number) => string) {
  let below = 0;
  return parts.map(([kind, shares]) => {
    const style = { height: height(shares[at]), bottom: height(below) };
    below += shares[at];
    return <i class={kind} style={style} />;
  });
}
