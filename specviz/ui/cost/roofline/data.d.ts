// What the roofline is asked and what it answers: see roofline/section.py and roofline/answer.py.

import type { Figure } from "../../shared/data.js";
import type { Pair } from "../shared/data.js";

export type FigureName = "speed" | "pass" | "gamma";
/** The controls' values by name; null where a box is empty. */
export type Choice = Record<string, string | number | null>;
export type Part = string | { n: string; as: string };
export interface Answer {
  said: Part[];
  alert: string | null;
  beside: Beside;
  round: Round;
  facts: [name: string, plain: string, ours: string][];
  figures: Record<FigureName, Figure>;
  told: Record<FigureName, string>;
  problem?: undefined;
}
/** The bound, what the best γ would give, and the nearest published measurement. */
export interface Beside {
  called: string;
  speedup: string;
  best: string;
  report: Report | null;
}
export interface Report {
  number: string;
  about: string;
  notes: string;
  place: string;
}
/** In plain passes; said: of brings and costs. */
export interface Round {
  brings: number;
  draft: number;
  verify: number;
  said: [brings: string, costs: string];
  costs: string;
  speedup: string;
}
export type Source = [title: string, url: string, evidence: string, note: string];
/** A machine or a model; facts by dtype. */
export interface Preset {
  title: string;
  facts: Record<string, string>;
  sources: Source[];
  sheet: string;
  note: string;
}
/** What a choice is made with. */
export type Control = HTMLInputElement | HTMLSelectElement;
export type Option = [value: string, title: string];
export interface Config {
  name: string;
  usual: Choice;
  terms: Pair;
  /** By the kind of a source's drafter, this section's name for it. */
  drafters: Record<string, string>;
  questions: { title: string; set: Choice }[];
  machines: Record<string, Preset>;
  models: Record<string, Preset & { drafters: Option[] }>;
  limits: Record<string, [least: number, most: number]>;
  stops: number[];
  evidence: Record<string, string>;
}
