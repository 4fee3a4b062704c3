// Which lessons were begun and finished, stored in the browser if it allows this.

import { Shared } from "./store";

const KEY = "sv-lessons";

/** For each lesson, the step that was reached, and whether the lesson was finished. */
export type Progress = Record<string, { at: number; done: boolean }>;

function read(): Progress {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return found && typeof found === "object" ? found : {};
  } catch {
    return {}; // there is no storage, or its content is not ours
  }
}

export const progress: Shared<Progress> = new Shared(read());

export function remember(id: string, at: number, steps: number) {
  const before = read(); // another window may have changed it
  const done = Boolean(before[id]?.done) || at + 1 === steps;
  const all = { ...before, [id]: { at, done } };
  try {
    localStorage.setItem(KEY, JSON.stringify(all));
  } catch {
    // Without storage, a lesson always begins at its first step.
  }
  progress.set(all);
}
