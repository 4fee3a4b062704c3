// What the ranking lab asks, what Python answers, and what it is told at the start.

import type { Word } from "../../shared/data.js";
import type { Label, TreeLayout } from "../../shared/draft_tree.js";

/** Of one way at hundreds of places: means, and 95% of the gain in accepted length. */
export interface Measured {
  differ: number;
  nodes: number;
  tied: number;
  zeros: number;
  orphans: number;
  length: number;
  gain: number;
  gain_interval: [number, number];
}
export interface Study {
  rows: {
    drafter: string;
    size: string;
    said: string;
    noise: string;
    ways: Record<string, Measured>;
  }[];
  made: string;
  where: string;
  arithmetic: { dtype: string; width: number; product: number; sum: number }[];
}
export interface Config {
  examples: [place: string, title: string, says: string][];
  places: [name: string, title: string][];
  size: [depth: number, width: number, budget: number];
  study: Study | null;
  reported: { url: string; where: string; quote: string; rows: [string, string, string][] };
}
export type Role = "kept" | "dropped" | "gained" | "lost" | "tied";
/** roles, totals: by node drawn. length: the expected accepted length, null where nothing judges. */
export interface Way {
  name: string;
  differ: number;
  tied: number;
  zeros: number;
  orphans: string[];
  length: number | null;
  roles: Role[];
  totals: string[];
  said: string;
}
export interface RankedNode {
  w: Word;
  label: Label;
  parent: number;
  depth: number;
}
export interface TreeAnswer {
  nodes: RankedNode[];
  layout: TreeLayout;
}
export interface Exhibit {
  trees: (TreeAnswer & { name: string; moved: boolean[]; length: number; kept: string })[];
}
export interface Answer extends TreeAnswer {
  problem?: undefined;
  ways: Way[];
  exhibit: Exhibit | null;
}
