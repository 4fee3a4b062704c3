// Which lessons were begun and finished, stored in the browser if it allows this.

import { local } from "./storage";
import { Shared } from "./store";

const KEY = "sv-lessons";

/** For each lesson, the step that was reached, and whether the lesson was finished. */
export type Progress = Record<string, { at: number; done: boolean }>;

function read(): Progress {
  try {
    const found = JSON.parse(local.get(KEY) ?? "{}");
    return found && typeof found === "object" ? found : {};
  } catch {
    return {}; // its content is not ours
  }
}

export const progress: Shared<Progress> = new Shared(read());

export function remember(id: string, at: number, steps: number) {
  const before = read(); // another window may have changed it
  const done = Boolean(before[id]?.done) || at + 1 === steps;
  const all = { ...before, [id]: { at, done } };
  local.set(KEY, JSON.stringify(all));
  progress.set(all);
}
