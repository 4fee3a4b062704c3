// The Models tab's data: see rows.py and progress.py.

import type { ErrorLine, StateLine } from "../shared/data.js";

export interface Config {
  name: string;
  /** Whether this app fetches models. */
  any: boolean;
}
export interface Row {
  name: string;
  title: string;
  kind: "target" | "drafter";
  layout: string;
  made_for: string;
  size: string;
  memory: string;
  licence: string;
  gated: string;
  tried: string;
  here: boolean;
  /** null: nobody knows before its files are here. */
  runs: boolean | null;
  about: string;
  /** Addresses where that is said. */
  sources: string[];
  fetch: boolean;
  use: boolean;
  /** Whether it fits in memory, a drafter with its target; null if that is unknown. */
  fits: boolean | null;
}
export interface Loaded {
  title: string;
  where: string;
  memory: string;
}
export interface Answer {
  problem?: undefined;
  rows: Row[];
  loaded: Loaded[];
  /** Drafters that need no weights. */
  bare: string[];
  /** Memory that is free or would be released, in words; "" if unknown. */
  free: string;
}
export interface Progress {
  kind: "progress";
  id: string;
  done: number;
  of: number;
}
export interface Step {
  kind: "step";
  id: string;
  sentence: string;
}
export type Line = Progress | Step | StateLine | ErrorLine;
