// Drafters by domain, as compare/domains/heatmap.py shows them.

import type { ErrorLine, StateLine } from "../../shared/data.js";

export type Measure = "speedup" | "accepted";
export interface Row {
  name: string;
  title: string;
  /** Nobody would decode with it: it is an end of the scale. */
  bound: boolean;
}
export interface Column {
  name: string;
  title: string;
}
/** A measure's number as text, its shade from 0 to 1, and its marks. */
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
  /** Of a recorded one. */
  temperature?: string;
  live?: boolean;
}
/** A live map's first line is whole; later ones have no rows, no columns, and only new cells. */
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
}
