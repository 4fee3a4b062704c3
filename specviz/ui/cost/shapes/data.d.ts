// Costs of public shapes as their section has them: see shapes/section.py and cost/shape_text.py.

import type { Figure } from "../../shared/data.js";
import type { Pair } from "../shared/data.js";
import type { Option } from "../shared/fields.js";


/** A drafter's round behind one context; numbers as they are shown, in plain passes where no ms. */
export interface Row {
  title: string;
  about: string;
  draft: string;
  middle: string;
  share: string;
  level: string;
  check: string;
  rest: string;
  whole: string;
  /** Simulated, from α. */
  even: string;
  /** Simulated, from α. */
  speedup: string;
  gains: boolean;
}
export interface Shown {
  models: Option[];
  contexts: number[];
  model: string;
  context: number;
  where: string;
  answer: string;
  caution: string;
  how: string;
  command: string;
  rows: Row[];
  passes: [tokens: string, ms: string, passes: string, roofline: string][];
  figure: Figure;
}
export interface Answer extends Shown {
  problem?: undefined;
}
export interface Config {
  name: string;
  terms: Pair;
  files: Option[];
  /** Of the first file, so that nothing moves when the first answer comes. */
  first: Shown | null;
  /** Characters of a file. */
  largest: number;
}
