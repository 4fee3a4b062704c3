// The state of the tab: the list, and the current or last download.

/** @import { Answer } from "./data.js" */

export const list = {
  /** @type {Answer | null} */
  answer: null,
  chosen: "",
};
export const fetched = { name: "", under: false, done: 0, of: 0, sentence: "", failed: false };
