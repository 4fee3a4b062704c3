// Which lessons were begun and finished, stored in the browser if it allows this.

import { local } from "./storage";
import { Shared } from "./store";

const KEY = "sv-lessons";

/** The step that was reached in a lesson, and whether the lesson was finished. */
export type Reached = { at: number; done: boolean };

/** By the names of lessons without their numbers, which have changed. */
type Progress = Record<string, Reached>;

const nameOf = (id: string) => id.replace(/^\d+-/, "");

const read = (): Progress =>
  Object.fromEntries(
    Object.entries(local.read<Progress>(KEY) ?? {}).map(([id, at]) => [nameOf(id), at]),
  );

export const progress: Shared<Progress> = new Shared(read());

/** Return how far a lesson was read; undefined if it was never opened. */
export const reached = (id: string): Reached | undefined => progress.value[nameOf(id)];

export function remember(id: string, at: number, steps: number) {
  const before = read(); // another window may have changed it
  const name = nameOf(id);
  const done = Boolean(before[name]?.done) || at + 1 === steps;
  const all = { ...before, [name]: { at, done } };
  local.set(KEY, JSON.stringify(all));
  progress.set(all);
}
