// A run as the player has it: lines from step/lines.py, and in them frames from specviz/frames.

import type {
  ErrorLine,
  Figure,
  MeasuredPoint,
  Source,
  State,
  StateLine,
  Word,
} from "../shared/data.js";
import type { Label, TreeLayout } from "../shared/draft_tree.js";

/** Where the reader is: a round by its index, and one of its steps. */
export type Place = [round: number, step: number];
/** A step to open once it is here: a round by its number, a step by its id. */
export interface Link {
  round: number;
  step: string | null;
}
/** Coins set by hand, by name: "3 judge 2" is that of node 2 in round 3. */
export type Coins = Record<string, number>;

export interface RunLine {
  kind: "run";
  id: string;
  source: Source;
  prompt: string;
  /** What asks for the prompt again: its text, or the turns of a conversation. */
  request: string | { role: string; text: string }[];
  /** The prompt as a conversation: see frames/turns.py. None of raw text. */
  turns: TurnBlock[];
  target: string;
  drafter: string;
  /** How the drafter drafts, in a sentence. */
  how: string;
  /** Of a run that is shown from memory: when it was measured, in a sentence. */
  again?: string;
  /** The target's title. */
  on: string;
  where: string;
  /** The settings: each one's name, and its words in the sentence. */
  summary: [name: string, words: string][];
  greedy: boolean;
  rule: string;
  lossless: boolean;
  names: [target: string, drafter: string];
  settings: Settings;
}
/** A turn. role: who speaks; empty where nobody does. */
export interface TurnBlock {
  role: string;
  parts: { is: "special" | "template" | "typed"; t: string }[];
}
/** As Settings.to_json in settings/settings.py. */
export interface Settings {
  sampling?: Record<string, Value>;
  coins?: Coins;
  [name: string]: Value | Record<string, Value> | undefined;
}
export type Value = string | number | boolean | null | number[] | number[][];

/** A round: its first frame, and the later ones as merge patches on it. */
export interface RoundLine {
  kind: "round";
  number: number;
  first: Frame;
  then: Patch[];
  /** By step of a verdict, a merge patch on the frame before it: the question that hides it. */
  asks: Record<number, Patch>;
  brings: [word: Word, kind: State, step: number][];
  seconds: [draft: number, target: number, rest: number];
}
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };
export interface Patch {
  step?: JsonObject;
  [key: string]: Json | undefined;
}
export interface FinishedLine {
  kind: "finished";
  reason: string;
  summary: string;
  /** The run's last step, as a patch on the first of its last round. */
  end?: Patch;
}
export interface BaselineLine {
  kind: "baseline";
  seconds: number[];
  summary: string;
  point: MeasuredPoint | null;
  end?: Patch;
}
/** Something to know about a run: see hint.py. */
export interface HintLine {
  kind: "hint";
  sentence: string;
}
export type Line =
  | RunLine
  | RoundLine
  | FinishedLine
  | BaselineLine
  | StateLine
  | ErrorLine
  | HintLine;

/** All that the screen shows at a step. */
export interface Frame {
  step: StepName;
  caption: Caption;
  chips: Chip[];
  tree: Tree;
  panel: Panel;
  /** None if the trace does not have the likeliest tokens. */
  pass?: TargetPass;
}
/** What the target's one pass gives at every position of the followed branch. */
export interface TargetPass {
  say: Part[];
  columns?: PassColumn[];
}
/** A position: its likeliest tokens, and the guess there with its place among them. */
export interface PassColumn {
  at: number;
  use: "waiting" | "used" | "unused";
  label: string;
  node?: number;
  w?: Word;
  is?: State;
  here?: boolean;
  top?: [word: Word, p: number, text: string][];
  rank?: number;
  /** Of a guess that is not among the likeliest tokens. */
  p?: [p: number, text: string];
}
export type StepKind = "propose" | "score" | "judge" | "draw" | "commit" | "end";
/** next: before it is seen; label: after. w and is: of a verdict. */
export type StepName = { id: string; label: string; next: string } & (
  | { kind: "judge"; w: Word; is: State }
  | { kind: Exclude<StepKind, "judge">; w?: undefined; is?: undefined }
);

/** A part of a sentence: text, a word, a number and whose it is, or a term of the glossary. */
export type Part =
  | string
  | { w: Word; n?: undefined; t?: undefined }
  | { n: string; as: string; w?: undefined; t?: undefined }
  | { t: string; term: string; w?: undefined; n?: undefined };
export interface Caption {
  is: State | StepKind | "ask";
  label: string;
  parts: Part[];
}
export interface Chip {
  w: Word;
  is: State;
  node?: number;
}

export interface Tree {
  root: Word;
  nodes: Record<string, Guess>;
  /** By node, the verdicts that lead to it: [node, 1 accepted or 0]. None at temperature 0. */
  ways?: Record<string, [node: number, kept: number][]>;
  /** By node, bounds of its probability of acceptance, as far as they are known at this step. */
  chances?: Chances;
  here?: number;
  slot?: Slot;
  /** The root's. */
  label: Label;
  layout: TreeLayout & { more: { deeper: number; lower: number } };
}
export type Chances = Partial<Record<string, [least: number, most: number]>>;
export interface Guess {
  w: Word;
  parent: number;
  depth: number;
  is: State;
  p?: number;
  q?: number;
  /** Of p and of q, what earlier tries left. */
  left?: number;
  left_q?: number;
  soft?: number;
  label: Label;
  /** To hover over. */
  facts: string[];
}
/** A guess with its node, as text. */
export type Entry = [node: string, guess: Guess];
/** The place of the round's last token; its word once it is drawn. */
export type Slot = { parent: number; depth: number; label: Label } & (
  | { w: Word; is: State }
  | { w?: undefined; is?: undefined }
);
/** What the inspector shows beside the tree. */
export type Panel =
  | GuessesPanel
  | EmptyPanel
  | AskedPanel
  | TrialPanel
  | LawPanel
  | RoundPanel;
interface Shown {
  figure?: Figure;
  facts?: Fact[];
  table?: Table;
  draw?: Draw;
  why?: Why;
  /** At the end of a run: where its time went. */
  times?: Part[];
}
export type Fact = [name: string, value: string];
export interface GuessesPanel extends Shown {
  kind: "guesses";
  scored: boolean;
  greedy: boolean;
  shown?: number;
  of?: number;
}
export interface EmptyPanel extends Shown {
  kind: "empty";
}
export interface LawPanel extends Shown {
  kind: "law";
  w: Word;
}
export interface RoundPanel extends Shown {
  kind: "round";
  number: number;
}
/** A token on trial whose verdict is hidden. At temperature 0 p would be the verdict. */
export interface AskedPanel extends Shown {
  kind: "trial";
  asked: true;
  w: Word;
  at: number;
  tries: number;
  laws: WithQ | WithoutQ;
  p?: number;
  q?: number;
  soft?: number;
  text?: { p: string; q?: string };
}
interface Trial extends Shown {
  kind: "trial";
  asked?: undefined;
  w: Word;
  at: number;
  tries: number;
  accepted: boolean;
  p: number;
  soft?: number;
  /** Why its probability is what it is, under rules that judge from the leaf up. */
  because?: Part[];
}
/** What the bars are called; left: those that earlier tries left. */
interface Laws {
  p: string;
  left: string[];
  /** Where the bars are what is owed, and all that is left: the leaf-first verdict on a guess whose
   * guesses after it were rejected. */
  owed?: boolean;
}
/** none: why there is no q. */
type WithoutQ = Laws & { none: string; q?: undefined };
type WithQ = Laws & { q: string; none?: undefined };
/** At temperature 0 no coin is tossed. */
export interface GreedyTrial extends Trial {
  q?: number;
  laws: WithQ | WithoutQ;
  text: { p: string };
  coin?: undefined;
}
/** A guess that was fixed before any coin has no q of its own. */
export interface PointTrial extends Trial {
  q?: undefined;
  laws: WithoutQ;
  text: { p: string; threshold: string; u: string; sum?: string };
  coin: Coin;
  whatif?: WhatIf;
}
export interface DrawnTrial extends Trial {
  q: number;
  laws: WithQ;
  text: { p: string; q: string; threshold: string; u: string; sum?: string };
  coin: Coin;
  whatif?: WhatIf;
}
export type TossedTrial = PointTrial | DrawnTrial;
export type TrialPanel = GreedyTrial | TossedTrial;
export interface Coin {
  u: number;
  threshold: number;
}
/** coin: its name. kept, rejected: what would come next. stuck: says that no coin changes it. */
export interface WhatIf {
  coin: string;
  kept: Part[];
  rejected: Part[];
  stuck?: Part[];
}

/** What is shown in place of what happened: another coin, or another guess. */
export interface Supposition {
  parts: Part[];
  /** Those that "Run it from here" sets; null if none can do it. */
  coins: Coins | null;
  /** What that button is called, where coins only may do it. */
  run?: string;
  /** Where the coin on screen was moved to. */
  coin?: { u: number; text: string };
}

/** p, q and residual by token; full: with the columns of a rejection. */
export interface Table {
  full: boolean;
  heads: Head[];
  digits: number;
  rows: TableRow[];
  /** apart: of p − q, where that is not 0. */
  total: { p: string; q: string; both: string; left: string; scaled: string; apart?: string };
  soft: boolean;
}
/** in: where there is little room; of: whose number; left: of what earlier tries left. */
export interface Head {
  t: string;
  in?: string;
  of?: "p" | "q";
  left?: "yes";
  term?: string;
}
/** t: texts of p, q, p − q, above 0 and scaled. m: the masses of bars, without p − q. */
export type TableRow = {
  t: [p: string, q: string, apart: string, above: string, scaled: string];
  m: [p: number, q: number, above: number, scaled: number];
  soft?: number;
  is?: string;
} & TokenOrRest<number>;
/** A token, or how much all the others are. */
export type TokenOrRest<Rest> = { w: Word; rest?: undefined } | { w?: undefined; rest: Rest };

/** The distribution as a strip of shares, and u on it; before the draw, the strip alone. */
export interface Draw {
  shares: Share[];
  u?: number;
  text?: { u: string; lo: string; hi: string; share: string };
}
export type Share = { m: number; hit?: boolean } & TokenOrRest<true>;

/** Why these guesses: the drafter's evidence, in the blocks of frames/evidence/forms.py. */
export interface Why {
  say: Part[];
  blocks: Block[];
  marks?: Marks;
}
export interface Marks {
  prompt?: [from: number, to: number, kind: string][];
  past?: [token: number, kind: string][];
}
export type Block = LineBlock | RowsBlock | GridBlock | FactsBlock;
export interface LineBlock {
  as: "line";
  label: string;
  spans: { is: string; words: Word[] }[];
}
export interface RowsBlock {
  as: "rows";
  heads: string[];
  rows: { at: string; words: Word[]; text: string[]; bar?: number; here?: boolean }[];
  more?: number;
}
export interface GridBlock {
  as: "grid";
  heads: string[];
  rows: GridRow[];
  keys?: [is: string, said: string][];
  split?: number;
  states?: boolean;
  stacked?: boolean;
  more?: number;
  note?: string;
}
export interface GridRow {
  label?: string;
  w?: Word;
  mark?: State;
  cells: GridCell[];
  tail?: string;
  group?: string;
}
export interface GridCell {
  w?: Word;
  n?: string;
  s?: "on" | "off" | "none";
  is?: "given" | "own" | "guess" | "root";
}
export interface FactsBlock {
  as: "facts";
  facts: Fact[];
  w?: Word;
}

/** What the player's script knows: see step/player.py. */
export interface Config {
  name: string;
  traces: string;
  recorded: string[];
  defaults: Settings;
  form: { name: string; kind: string }[];
  targets: string[];
  drafters: string[];
  /** Values of u that surely accept and reject where anything can. */
  coins: { accept: number; reject: number };
}

/** A stretch of time, in seconds. */
export type Span = [at: number, long: number];
