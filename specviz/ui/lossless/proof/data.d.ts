// A recorded run's checks, and the result of repeated runs.

import type { ErrorLine, StateLine, Word } from "../../shared/data.js";

/** runs: name and title. times: pairs of runs. */
export interface Config {
  runs: [name: string, title: string][];
  times: number;
}
/** experiment: p and q for the sandbox, cut to a few words and rescaled to sum to 1. */
export interface Verdict {
  round: number;
  w: Word;
  kept: boolean;
  tv: string;
  experiment: { words: Word[]; p: number[]; q: number[]; drawn: "sampled" | "top" } | null;
}
export interface Answer {
  problem?: undefined;
  run: string;
  title: string;
  sentence: string;
  verdicts: Verdict[];
}
export interface TallyLine {
  kind: "tally";
  id: string;
  done: number;
  of: number;
  sentence?: string;
}
export type Line = TallyLine | StateLine | ErrorLine;
