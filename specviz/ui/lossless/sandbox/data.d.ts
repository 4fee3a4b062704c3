// What the sandbox asks, what Python answers, and what it is told at the start.

import type { Word } from "../../shared/data.js";

export type DrawnName = "sampled" | "without-replacement" | "top";
export type LawName = "p" | "q";

/** Two laws over a few words. */
export interface Preset {
  name: string;
  title: string;
  words: Word[];
  p: number[];
  q: number[];
}
/** A number that a rule can be set to. */
export interface Dial {
  name: string;
  usual: number;
  least: number;
  most: number;
  means: string;
}
export interface RuleRow {
  name: string;
  title: string;
  group: string;
  about: string;
  dials: Dial[];
}
export interface Choice<Value> {
  value: Value;
  title: string;
}
export interface Config {
  presets: Preset[];
  rules: RuleRow[];
  drawn: Choice<DrawnName>[];
  most: number;
}
/** What the sandbox stands at. */
export interface State {
  words: Word[];
  p: number[];
  q: number[];
  drawn: DrawnName;
  candidates: number;
  rule: string;
  dials: number[];
  preset: string;
  /** Where the laws were taken from, if from a run. */
  from: string;
}
export interface Fault {
  id: number;
  problem: string;
}
/** worst: the word that is furthest off, of which `said` then speaks. kept, filled: by word, the mass that comes through the draft and the rest, which together are out. */
export interface Answer {
  id: number;
  problem?: undefined;
  is: "exact" | "lossy";
  verdict: string;
  said: string;
  worst: number | null;
  why: string;
  kept: number[];
  filled: number[];
  told: Record<string, string>;
  table: { heads: string[]; rows: string[][] };
}
