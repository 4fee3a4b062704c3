// What the speed law is asked and what it answers: see law/question.py and law/answer.py.

import type { Figure, MeasuredPoint, Word } from "../../shared/data.js";
import type { Label, TreeLayout } from "../../shared/draft_tree.js";
import type { Pair } from "../shared/data.js";

export type Quantity = "alpha" | "gamma" | "c" | "verify" | "c_hat";
export type Text = "widths" | "places";
export type MapName = "gamma" | "c";
/** What the sliders and boxes say; null where a box is empty. */
export type State = Record<Quantity, number | null> & Record<Text, string> & { map: MapName };
/** The numbers of a measured run that the law reads. */
export type Measured = Omit<MeasuredPoint, "predicted">;

/** Of the parts that are open. */
export interface Answer {
  formula: Formula | null;
  trees: Trees | Fault | null;
  problem?: undefined;
  field?: undefined;
}
export interface Formula {
  best: string;
  chosen: string;
  round: Round;
  speed: Figure;
  time: Figure;
  map: Figure;
  run: RunTold | null;
}
/** A question that cannot be answered: why, and which box it is about. */
export interface Fault {
  problem: string;
  field: string;
}
export interface Round {
  tokens: number;
  draft: number;
  check: number;
  numbers: Record<string, string>;
}
export interface Trees {
  cards: Card[];
  said: string;
  problem?: undefined;
  field?: undefined;
}
export interface Card {
  name: string;
  tokens: number;
  speedup: number;
  /** both: the probability that a round accepts the token. */
  tree: {
    nodes: { w: Word; label: Label; parent: number; both: number }[];
    layout: TreeLayout;
  };
  numbers: Record<string, string>;
}
/** What the figures' legends name. */
export type Key = "chosen" | "best" | "run" | "law" | "ridge";
export interface RunTold {
  measured: string;
  law: string;
  why: string;
  rows: [term: string, value: string, said: string][];
}
export interface Config {
  name: string;
  start: State;
  terms: Pair;
  /** The sentence about trees at the values of the start. */
  trees: string;
  limits: Record<string, [least: number, most: number]>;
}
