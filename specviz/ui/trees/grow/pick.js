// A guess is pointed at: tree, matrix, text and its numbers follow. Who shows something says so here.

import { view } from "./state.js";

/** @type {Set<() => void>} */
const heard = new Set();

/** Calls `hear` whenever another guess is pointed at. @param {() => void} hear */
export const onPick = (hear) => heard.add(hear);

/** @param {number} node */
export function pick(node) {
  if (node === view.picked) return;
  view.picked = node;
  for (const hear of heard) hear();
}
