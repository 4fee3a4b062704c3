// p and q over a few words as bars that can be dragged, and below them the output of a rule.

import { OutputColumns, WordRow } from "./output_columns";
import { ProbabilityBars } from "./probability_bars";

import type { ComponentChild } from "preact";
import type { Word } from "../../frames/scene.py";

export type DistributionName = "p" | "q";
export interface Grid {
  words: Word[];
  p: number[];
  q: number[];
  /** The last output, which may belong to other words and another p. */
  output: { words: Word[]; p: number[]; kept: number[]; filled: number[] } | null;
  /** The probability of a full bar, the same in all rows. */
  scale: number;
  /** A larger difference of the output from p is marked. */
  tolerance: number;
  onMove: (name: DistributionName, at: number, value: number) => void;
  onDrag?: (drags: boolean) => void;
}

export function DistributionGrid(grid: Grid) {
  const { words, scale, onMove, onDrag = () => {} } = grid;
  const Dragged = (name: DistributionName) =>
    ProbabilityBars({
      name,
      words,
      values: grid[name],
      scale,
      onMove: (at, value) => onMove(name, at, value),
      onDrag,
    });
  return [
    ...Row("target p", "drag a bar", Dragged("p"), "sv-sand-p-ink"),
    ...Row("drafter q", "drag a bar", Dragged("q"), "sv-sand-q-ink"),
    ...Row("output", "outline: p", Output(grid)),
    <span />,
    WordRow(words),
  ];
}

const Row = (title: string, note: string, bars: ComponentChild, ink?: string) => [
  <p class="sv-sand-name">
    <b class={ink}>{title}</b>
    <span>{note}</span>
  </p>,
  bars,
];

function Output({ output, scale, tolerance }: Grid) {
  const name = "sv-sand-out";
  if (!output) return <div class={"sv-sand-bars " + name} />;
  const { words, p, kept, filled } = output;
  return OutputColumns({
    words,
    p,
    parts: [
      ["sv-sand-kept", kept],
      ["sv-sand-filled", filled],
    ],
    scale,
    digits: 2,
    tolerance,
    name,
  });
}
