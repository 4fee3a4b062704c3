// A drawn tree, in any section of the tab.

import type { Word } from "../../shared/data.js";

/** A position that was looked at live. */
export interface Handed {
  place: string;
  title: string;
}
/** In pixels: the pill's left end, its middle's height, its width, and its word, cut to it. */
export type Place = [x: number, y: number, wide: number, label: string];
/** places: by node. columns: left ends, by depth. gap: between columns. */
export interface Layout {
  places: Record<string, Place>;
  columns: number[];
  width: number;
  height: number;
  gap: number;
}
/** What is drawn of a guess. total: what stands on its line. */
export interface Twig {
  w: Word;
  parent: number;
  total: string;
}
