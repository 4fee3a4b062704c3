// The selected guess: tree, matrix, text and numbers register here to follow it.

import { view } from "./state.js";

/** @type {Set<() => void>} */
const heard = new Set();

/** Call `hear` whenever another guess is selected. @param {() => void} hear */
export const onPick = (hear) => heard.add(hear);

/** @param {number} node */
export function pick(node) {
  if (node === view.picked) return;
  view.picked = node;
  for (const hear of heard) hear();
}
