// What the two rules are asked, what Python answers, and what is told at the start.

import type { Word } from "../../shared/data.js";
import type { Label, TreeLayout } from "../../shared/draft_tree.js";

export interface Config {
  places: [name: string, title: string][];
  shapes: string[];
  drawn: [value: string, title: string][];
}
/** coins: in the order thrown: guess, coin, chance to keep, what it became. */
export interface RuleAnswer {
  name: string;
  title: string;
  roles: string[];
  coins: [string, string, string, string][];
  kept: number;
  expected: string;
  said: string;
}
/** p and q: after its parent; the root has none. */
export interface JudgedNode {
  w: Word;
  label: Label;
  parent: number;
  depth: number;
  p?: number;
  q?: number;
}
export interface Answer {
  problem?: undefined;
  nodes: JudgedNode[];
  layout: TreeLayout;
  rules: RuleAnswer[];
  average: { said: string } | null;
}
