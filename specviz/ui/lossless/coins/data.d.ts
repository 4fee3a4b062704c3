// What is thrown, and what came of it.

export interface Config {
  throws: number[];
}
/** By word, how many of the throws so far came through the draft, and instead of a fallen guess. */
export interface Pour {
  thrown: number;
  kept: number[];
  filled: number[];
}
export interface Fault {
  id: number;
  problem: string;
}
/** pours: after each part of the throws. intervals: by word, the lowest and highest share. */
export interface Thrown {
  id: number;
  problem?: undefined;
  pours: Pour[];
  intervals: [number, number][];
  said: string;
  told: Record<string, string>;
  darts: Board | null;
}
/** Von Neumann's board. high: by word, M q. darts: the word, how high, and whether it was kept. */
export interface Board {
  high: number[];
  p: number[];
  bound: string;
  darts: [word: number, height: number, kept: number][];
}
/** As much of the sandbox as is used here. */
export interface Sandbox {
  wish(more: object): string;
  onAnswer(hear: () => void): void;
  state: { words: import("../../shared/data.js").Word[]; p: number[] };
}
