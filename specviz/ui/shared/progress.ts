// Which lessons were begun and finished, stored in the browser if it allows this.

const KEY = "sv-lessons";

/** For each lesson, the step that was reached, and whether the lesson was finished. */
export type Progress = Record<string, { at: number; done: boolean }>;

export function progress(): Progress {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return found && typeof found === "object" ? found : {};
  } catch {
    return {}; // there is no storage, or its content is not ours
  }
}

export function remember(id: string, at: number, steps: number) {
  const all = progress();
  const done = Boolean(all[id]?.done) || at + 1 === steps;
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...all, [id]: { at, done } }));
  } catch {
    // Without storage, a lesson always begins at its first step.
  }
  window.dispatchEvent(new Event("sv-progress"));
}
