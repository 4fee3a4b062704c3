// What the sections of the tab share: see terms.js, runs.js and address.js.

export type TermName = "alpha" | "gamma";
/** null where a box is empty. */
export type Pair = Record<TermName, number | null>;
export type Which = "step" | "compare";
/** Where a number comes from: nobody's, a visitor's, a link's, a run's, or a source's. */
export interface Origin {
  kind: "start" | "choice" | "link" | "run" | "server" | "published";
  said: string;
  /** Which run, or which source. */
  key?: string;
  /** The target that it was measured on. */
  on?: string;
  /** Of a round, a tree's siblings too. */
  guesses?: number | null;
  /** As the roofline calls it; empty where it has no such one. */
  drafter?: string;
}
/** By key in the address; null: not there. */
export type Noted = Record<string, string | number | null>;
