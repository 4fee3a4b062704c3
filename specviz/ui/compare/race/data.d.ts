// The data of a race: lines from race/lines.py, and numbers from specviz/compare.

import type {
  ErrorLine,
  MeasuredPoint,
  Source,
  State,
  StateLine,
  Word,
} from "../../shared/data.js";

export type Token = [word: Word, kind: State];
/** Seconds of a pass. */
export type Pass = [draft: number, target: number, rest: number];

export interface RaceLine {
  kind: "race";
  id: string;
  source: Source;
  prompt: string;
  target: string;
  where: string;
  settings: string;
  greedy: boolean;
  order: string[];
  lanes: LaneFacts[];
}
export interface LaneFacts {
  name: string;
  title: string;
  /** Its draft, in words. */
  shape: string;
}
export interface StartedLine {
  kind: "started";
  lane: string;
  place: number;
  turn: number;
}
export interface ProgressLine {
  kind: "progress";
  lane: string;
  tokens: number;
  seconds: number;
}
export interface EndedLine {
  kind: "ended";
  lane: string;
  /** Whether the text answers the prompt instead of continuing it. */
  chat: boolean;
  passes: Pass[];
  brought: Token[][];
}
export interface SummaryLine {
  kind: "summary";
  whole: Whole;
}
export type Line =
  | RaceLine
  | StartedLine
  | ProgressLine
  | EndedLine
  | SummaryLine
  | StateLine
  | ErrorLine;

/** A finished lane. ends, counts: after every pass, seconds and tokens so far. */
export interface Lane {
  name: string;
  chat: boolean;
  passes: Pass[];
  brought: Token[][];
  ends: number[];
  counts: number[];
  end: number;
}
/** The running lane. done: it has ended in this turn. seconds: null while it warms up. */
export interface Now {
  lane: string;
  place: number;
  turn: number;
  done: boolean;
  tokens: number;
  seconds: number | null;
}
/** A part of a sentence: text, bold text, or a number and its owner. */
export type Part = string | { b: string } | { b?: undefined; n: string; as: string };
/** All numbers so far: see compare/summary.py. */
export interface Whole {
  order: string[];
  headline: string;
  caution: string | null;
  texts: { same: boolean | null; sentence_parts: Part[] };
  lanes: LaneNumbers[];
}
export interface LaneNumbers {
  name: string;
  sentence_parts: Part[];
  decimals: number;
  point: MeasuredPoint | null;
  brings: number | null;
  costs: Costs | null;
  speedup: number | null;
  /** The lowest and highest of several runs. */
  speedups: [number, number] | null;
  runs: number[];
  noise: string | null;
  tokens_per_second: number | null;
  /** Null if nothing was guessed, or if the rule has no α. */
  alpha: number | null;
  guesses: number | null;
  rule: string;
  depths: { positions: number; kept: number }[];
  flops_per_token: number | null;
  bytes: number;
  held_bytes: number | null;
  equality: { verdict: string; position?: number | null; sentence: string };
}
/** The cost of a round, in plain tokens. */
export interface Costs {
  draft: number;
  target: number;
  overhead: number;
  prefill: number;
  total: number;
}

export interface Config {
  name: string;
  races: string;
  recorded: string[];
}

/** The form's values of the lanes: drafter, settings, drafter, settings, ... */
export type Slots = (string | null)[];
/** All of the form's values, in its order. */
export type Filled = (string | number | null)[];
/** A field's value in Gradio. */
export type Value = string | number | null;
/** A field of the lane being edited: see race/lane.py. */
export interface Field {
  name: string;
  kind: string;
  brief: string;
  instead: string;
  always: boolean;
  quiet: boolean;
  place: number;
}
/** A drafter in the catalogue. defaults: its default settings by field; suits: the same as text. */
export interface Known {
  title: string;
  suits: string;
  /** The target that its weights were trained for; null if it fits any. */
  made_for: string | null;
  reads: string[];
  defaults: Value[];
}
/** The form's config: see race/form.py. */
export interface FormConfig {
  name: string;
  event: string;
  first: Filled;
  drafters: Record<string, Known>;
  fields: Field[];
  targets: Record<string, string>;
  presets: Record<string, { about: string; lanes: Slots }>;
  recorded: Record<string, Filled>;
  fewest: number;
  most: number;
}

/** A time span, in seconds. */
export type Span = [at: number, long: number];
