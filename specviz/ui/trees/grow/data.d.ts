// What the growing tree asks, what Python answers, and what it is told at the start.

import type { Figure, StateLine, ErrorLine, Word } from "../../shared/data.js";
import type { Label, TreeLayout } from "../../shared/draft_tree.js";

export interface Config {
  places: [name: string, title: string][];
  kinds: [name: string, title: string][];
  presets: [title: string, size: [depth: number, width: number, budget: number]][];
  drafters: [name: string, title: string][];
  prompt: string;
  most: { depth: number; width: number; skip: number };
}
export type Dial = "depth" | "width" | "budget";
/** What is asked; own: the text of a shape; cold: temperature 0. */
export interface State {
  place: string;
  kind: string;
  tree: Record<Dial, number>;
  own: string;
  seed: number;
  cold: boolean;
}
/** A guess of the pool. total: its log-probability as text; rank: among all weighed; row: in the target's pass, null where it was dropped. kept, forecast, believed: the chance that a round keeps it, by p here, by rank, by the drafter. */
export interface Node {
  w: Word;
  label: Label;
  parent: number;
  depth: number;
  total: string;
  q: number;
  rank: number;
  row: number | null;
  p: number;
  kept: number;
  forecast: number;
  believed: number;
}
/** born: how many guesses of the pool are there. node: being read. level: all read in this pass. */
export interface Step {
  kind: "start" | "expand" | "frontier" | "rerank" | "mask" | "verify";
  born: number;
  say: string;
  node?: number;
  level?: number[];
}
export interface Decision {
  node: number;
  u: number;
  p: number;
  is: "accepted" | "rejected";
}
export interface Length {
  name: string;
  said: string;
  value: number;
}
/** mask: by row of the pass, the rows that it sees. */
export interface Answer {
  problem?: undefined;
  from: {
    drafter: string;
    target: string;
    machine: string;
    prompt: string;
    deepest: number;
    widest: number;
  };
  text: Word[];
  nodes: Node[];
  kept: number[];
  layouts: Record<Shown, TreeLayout>;
  /** By depth, the layout of the guesses down to there: its height, and that of each guess. */
  levels: { height: number; y: number[] }[];
  steps: Step[];
  mask: number[][];
  positions: number[];
  views: Record<string, number[] | number[][] | string>;
  names: Record<string, Record<string, number>>;
  verdict: { path: number[]; decisions: Decision[] };
  lengths: Length[];
  margins: { figure: Figure; said: string };
  notes: string[];
}
export type Shown = "all" | "kept";
export interface PositionLine {
  kind: "position";
  id: string;
  place: string;
}
export type Line = StateLine | ErrorLine | PositionLine;
