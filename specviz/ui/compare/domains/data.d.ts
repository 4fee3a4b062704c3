// The map of drafters by domain: see compare/domains/heatmap.py.

import type { ErrorLine, StateLine } from "../../shared/data.js";

export type Measure = "speedup" | "accepted";
export interface Row {
  name: string;
  title: string;
  /** A reference drafter, with which nobody would decode. */
  bound: boolean;
}
export interface Column {
  name: string;
  title: string;
}
/** A number as shown, its shade from 0 to 1, and its marks. */
export type Shaded = [text: string, shade: number, marks: string];
export interface Cell extends Record<Measure, Shaded> {
  said: [title: string, ...lines: string[]];
  part?: string;
}
export interface View {
  rows: Row[];
  columns: Column[];
  cells: Record<string, Cell>;
  ends: Record<Measure, [low: string, high: string]>;
  headline: string;
  detail: string;
  caution: string;
  badge: string;
  where: string;
  /** Only of a recorded map. */
  temperature?: string;
  live?: boolean;
}
/** A live map's first line is complete; later ones have only changed cells. */
export type MapLine = { kind: "map"; id: string } & Omit<View, "rows" | "columns"> &
  Partial<Pick<View, "rows" | "columns">>;
export interface NowLine {
  kind: "now";
  id: string;
  place: number;
  of: number;
  sentence: string;
}
export type Line = MapLine | NowLine | StateLine | ErrorLine;

export interface Place {
  row: number;
  column: number;
}
export interface Config {
  name: string;
  recorded: View[];
  /** The sentence above the reference drafters. */
  references: string;
  notes: Record<Measure, string>;
}
