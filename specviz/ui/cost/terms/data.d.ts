// Published chances that a guess is kept, by drafter: see terms/section.py.

import type { Pair } from "../shared/data.js";

export interface Preset {
  name: string;
  alpha: number;
  gamma: number | null;
  guesses: number | null;
  drafter: string;
  on: string;
  title: string;
  said: string;
  how: string;
  source: [title: string, url: string];
}
export interface Config {
  name: string;
  terms: Pair;
  presets: Preset[];
}
