// What the tab shows: the list, and the fetch that is under way or was the last.

/** @import { Answer } from "./data.js" */

export const list = {
  /** @type {Answer | null} */
  answer: null,
  chosen: "",
};
export const fetched = { name: "", under: false, done: 0, of: 0, sentence: "", failed: false };
