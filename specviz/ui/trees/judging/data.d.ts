// What the two rules are asked, what Python answers, and what is told at the start.

import type { Word } from "../../shared/data.js";
import type { Layout } from "../shared/data.js";

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
export interface Answer {
  problem?: undefined;
  nodes: { w: Word; parent: number }[];
  layout: Layout;
  rules: RuleAnswer[];
  average: { said: string } | null;
}
