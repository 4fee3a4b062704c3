// What the sections of the page share: values with listeners.

import type { RunLine } from "../step/lines.py";
import type { LessonNotes } from "../step/present";
import type { NamedPoint } from "./section";

/** A value; its listeners are called whenever it is set. */
export class Shared<Value> {
  #listeners: ((value: Value) => void)[] = [];

  value: Value;

  constructor(value: Value) {
    this.value = value;
  }

  set(value: Value) {
    this.value = value;
    for (const listener of this.#listeners) listener(value);
  }

  on(listener: (value: Value) => void) {
    this.#listeners.push(listener);
  }
}

/** The run on Step. */
export const run = new Shared<RunLine | null>(null);

/** Its place on the map of speed-ups, null if it has none; undefined until a run has ended. */
export const measured = new Shared<NamedPoint | null | undefined>(undefined);

/** The step on Step, set whenever it was drawn. */
export const moment = new Shared<{ round: number; step: number } | null>(null);

/** The question of a lesson's step. known: Whether its answer is shown. */
export type LessonQuestion = {
  ask: string;
  options: string[];
  answer: number;
  known: boolean;
};

/** The open lesson; `look` selects what its step is about, and `turn` goes on or back in it. */
export const lesson = new Shared<{
  id: string;
  notes: LessonNotes;
  look: string;
  question: LessonQuestion | null;
  turn: (by: number) => void;
} | null>(null);

/** When the class of a plan began, in milliseconds; 0 if its clock is not running. */
export const classBegun = new Shared<number>(0);

/** Whether the tour is open. */
export const tour = new Shared<boolean>(false);

/**
 * A link that is about to be copied, which its listeners complete: why there is none, what it does
 * not restore, and the keys of the address that it does without.
 */
export const link = new Shared<{ problem: string; note: string; without: string[] }>({
  problem: "",
  note: "",
  without: [],
});
