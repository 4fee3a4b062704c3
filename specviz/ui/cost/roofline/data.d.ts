// What the roofline is asked and what it answers: see roofline/section.py and roofline/answer.py.

import type { Figure } from "../../shared/data.js";
import type { Pair } from "../shared/data.js";
import type { Option } from "../shared/fields.js";

export type FigureName = "speed" | "pass" | "gamma";
/** The controls' values by name; null where a box is empty. */
export type Choice = Record<string, string | number | null>;
/** A piece of a sentence: text, or a number in its colour. */
export type Spoken = string | { n: string; as: string };
export interface Answer {
  said: Spoken[];
  /** In one sentence, for the closed part. */
  brief: string;
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
/** What has sources: a machine, a model or an efficiency. */
export interface Sourced {
  title: string;
  sources: Source[];
  sheet: string;
  note: string;
}
/** A machine or a model; facts by dtype. */
export interface Preset extends Sourced {
  facts: Record<string, string>;
}
/** What a choice is made with. */
export type Control = HTMLInputElement | HTMLSelectElement;
export interface Config {
  name: string;
  usual: Choice;
  /** The answer in one sentence at the usual values. */
  brief: string;
  terms: Pair;
  /** By the kind of a source's drafter, this section's name for it. */
  drafters: Record<string, string>;
  questions: { title: string; set: Choice }[];
  machines: Record<string, Preset>;
  models: Record<string, Preset & { drafters: Option[] }>;
  /** Of bandwidth and of arithmetic; reported: the range that sources report, as a sentence. */
  efficiencies: Record<string, Sourced & { reported: string }>;
  limits: Record<string, [least: number, most: number]>;
  stops: number[];
  evidence: Record<string, string>;
}
