// The config, and the results of the random rounds.

export interface Config {
  throws: number[];
}
/** Counts after a step of the animation. kept, filled: by word, accepted guesses and replacements. */
export interface Step {
  thrown: number;
  kept: number[];
  filled: number[];
}
/** intervals: by word, the lowest and highest share. */
export interface Throws {
  problem?: undefined;
  steps: Step[];
  intervals: [number, number][];
  sentence: string;
  numbers: Record<string, string>;
  darts: Board | null;
}
/** Von Neumann's dartboard. high: by word, M q. darts: word, height, and whether it is accepted. */
export interface Board {
  high: number[];
  p: number[];
  darts: [word: number, height: number, kept: number][];
  caption: string;
}
/** The part of the sandbox's API that is used here. */
export interface Sandbox {
  request(): object;
  onAnswer(listener: () => void): void;
  state: { words: import("../../shared/data.js").Word[]; p: number[] };
}
