// The sandbox's questions, Python's answers, and the section's config.

import type { Word } from "../../shared/data.js";

export type DrawnName = "sampled" | "without-replacement" | "top";
export type DistributionName = "p" | "q";

/** Two distributions over a few words. */
export interface Preset {
  name: string;
  title: string;
  words: Word[];
  p: number[];
  q: number[];
  /** The rule that it selects for sampled guesses; "" keeps what is selected. */
  rule: string;
}
/** A number that a rule can be set to. */
export interface Parameter {
  name: string;
  default: number;
  least: number;
  most: number;
  meaning: string;
}
export interface RuleRow {
  name: string;
  title: string;
  group: string;
  about: string;
  parameters: Parameter[];
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
/** The sandbox's current state. */
export interface State {
  words: Word[];
  p: number[];
  q: number[];
  drawn: DrawnName;
  candidates: number;
  rule: string;
  parameters: number[];
  preset: string;
  /** The run that p and q come from; empty if they come from no run. */
  from: string;
}
/** worst: index of the word with the largest error, the subject of `sentence`. kept, filled: by word, the probability of an accepted guess and of a replacement; their sum is the output. */
export interface Answer {
  problem?: undefined;
  is: "exact" | "lossy";
  verdict: string;
  sentence: string;
  worst: number | null;
  why: string;
  kept: number[];
  filled: number[];
  numbers: Record<string, string>;
  table: { heads: string[]; rows: string[][] };
}
