// Published rules as Python computes them, and the evidence shown in "Find the fault".

import type { Word } from "../../shared/data.js";

export interface Config {
  words: Word[];
}
/** sentence: its result. out, p: by word, the probability to come first, and the right one. */
export interface CaseStudy {
  key: string;
  name: string;
  claimed: string;
  source: { title: string; url: string };
  drawn: string;
  judged: string;
  why: string;
  is: "exact" | "lossy";
  tv: string;
  sentence: string;
  out: number[];
  p: number[];
}
/** lead, draft: sentences. strings: the most unusual ones: count, count expected from p, difference. */
export interface Evidence {
  lead: string;
  draft: string;
  p: number[];
  out: number[];
  intervals: [number, number][];
  strings: string[][];
}
export interface Answer {
  problem?: undefined;
  exhibits?: CaseStudy[];
  evidence?: Evidence;
}
