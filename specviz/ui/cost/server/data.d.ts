// What a server's numbers are asked and what they answer: see server/question.py and answer.py.

import type { Figure } from "../../shared/data.js";
import type { Option } from "../shared/fields.js";

export type FigureName = "places" | "outlook";
/** Where a server runs, by the controls' names; null where a box is empty. */
export type Site = Record<string, string | number | null>;
export type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;
export interface Answer {
  said: [before: string, tokens: string, after: string];
  /** In one sentence, for the closed part. */
  brief: string;
  facts: string[][];
  places: string[][];
  unsaid: string[];
  /** Simulated. */
  advice: string[];
  /** Why nothing can be predicted; empty where it can. */
  open: string;
  figures: Record<FigureName, Figure | null>;
  told: Record<FigureName, string>;
  /** For the whole tab. */
  takes: { alpha: number; gamma: number; said: string } | null;
  /** As the server says them. */
  batch: number | null;
  gamma: number | null;
  problem?: undefined;
}
export interface Fault {
  problem: string;
  /** The box that it is about. */
  field?: string;
  /** Where the text tells of several. */
  models?: string[];
}
export interface Config {
  name: string;
  start: Site;
  /** About the example, in one sentence. */
  brief: string;
  example: { text: string; said: string; site: Site };
  /** What is looked at in JSON. */
  names: string[];
  /** Characters of a text. */
  longest: number;
  limits: Record<string, [least: number, most: number]>;
  machines: Record<string, { title: string; dtypes: string[] }>;
  models: Record<string, { title: string; drafters: Option[] }>;
}
