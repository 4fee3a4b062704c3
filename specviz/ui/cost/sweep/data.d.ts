// A sweep as its section has it: see sweep/section.py and cost/sweep_text.py.

import type { ErrorLine, Figure, Source, StateLine } from "../../shared/data.js";

export interface Sweep {
  source: Source;
  where: string;
  how: string;
  caution: string;
  /** Times vary too much: `answer` says so, and `caution` what came out. */
  restless: boolean;
  answer: string;
  must: string;
  memory: string;
  gap: string;
  grows: string;
  /** Numbers as they are shown, by column. */
  rows: Record<string, string | number>[];
  figure: Figure;
}
export interface Progress {
  kind: "progress";
  id: string;
  done: number;
  /** Not known while it warms up. */
  of: number | null;
}
export type Line = (Sweep & { kind: "sweep"; id: string }) | Progress | StateLine | ErrorLine;
export interface Config {
  name: string;
  recorded: Sweep | null;
}
