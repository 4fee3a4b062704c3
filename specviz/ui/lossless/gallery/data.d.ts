// Exhibits as Python computes them, and what a detective is shown.

import type { Word } from "../../shared/data.js";

export interface Config {
  words: Word[];
}
/** out, p: by word, the chance to come first, as it is and as it should be. */
export interface Exhibit {
  key: string;
  name: string;
  claimed: string;
  source: { title: string; url: string };
  drawn: string;
  judged: string;
  why: string;
  is: "exact" | "lossy";
  tv: string;
  kept: string;
  together: number;
  out: number[];
  p: number[];
}
/** strings: the oddest ones, each with its count, the count that p expects, and how far it is off. */
export interface Evidence {
  throws: number;
  p: number[];
  q: number[];
  out: number[];
  intervals: [number, number][];
  firsts: string;
  strings: string[][];
}
export interface Answer {
  id: number;
  problem?: string;
  exhibits?: Exhibit[];
  evidence?: Evidence;
}
