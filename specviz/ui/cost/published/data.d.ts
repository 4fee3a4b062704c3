// Published numbers, and the house models' own beside them: see published/section.py.

import type { ComponentChild } from "../../vendor/preact.js";

export interface Source {
  title: string;
  url: string;
  evidence: string;
  note: string;
}
export interface Published {
  place: string;
  method: string;
  says: string;
  number: string;
  kind: "speed-up" | "slower" | "accepted";
  gain: number;
  model: string;
  task: string;
  hardware: string;
  conditions: string;
  source: Source;
}
export interface BoardRow {
  place: string;
  method: string;
  speedups: string[];
  passes: string;
  overall: string;
}
export interface Board {
  device: string;
  model: string;
  conditions: string;
  tasks: string[];
  source: Source;
  rows: BoardRow[];
}
export interface OwnRow {
  method: string;
  published: string;
  speedup: string;
  apart: string;
  passes: string;
  alpha: string;
}
export interface Own {
  heading: string;
  how: string;
  rows: OwnRow[];
}
/** A column: its heading, its class, and a row's cell. */
export type Column<Row> = [title: string, name: string, cell: (row: Row) => ComponentChild];
export interface Config {
  name: string;
  rows: Published[];
  boards: Board[];
  evidence: [letter: string, meaning: string][];
  full: Record<string, string>;
  ours: Own | null;
  secondhand: string;
  /** Of each part, in one sentence. */
  brief: [numbers: string, boards: string];
}
