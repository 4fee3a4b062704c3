// Which lessons have been begun and finished: in the browser's storage, where there is one.

const KEY = "sv-lessons";

/** By lesson: the step that was reached, and whether the last step was.
 * @typedef {Record<string, { at: number, done: boolean }>} Progress
 */

/** @returns {Progress} */
export function progress() {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return found && typeof found === "object" ? found : {};
  } catch {
    return {}; // no storage, or not ours
  }
}

/** @param {string} id @param {number} at @param {number} steps */
export function remember(id, at, steps) {
  const all = progress();
  const done = Boolean(all[id]?.done) || at + 1 === steps;
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...all, [id]: { at, done } }));
  } catch {
    // Without storage a lesson begins at its first step each time.
  }
  window.dispatchEvent(new Event("sv-progress"));
}
