// The room that parts of the player have, read once before a paint writes anything: each reading in
// its midst would have the browser lay the whole page out once more.

import { $ } from "./stage.js";

const PLACES = {
  player: ".sv",
  panel: ".sv-panel",
  tree: ".sv-treewide",
  columns: ".sv-treebox",
  lane: ".sv-lane-fast",
  axis: ".sv-axis",
};

/** @type {Partial<Record<keyof typeof PLACES, number>>} */
let found = {};

export function measure() {
  const read = Object.entries(PLACES).map(([name, place]) => [name, $(place).clientWidth]);
  found = Object.fromEntries(read);
}

/** How wide a part was when the page was last painted, in pixels; 0 where it is not shown.
 * @param {keyof typeof PLACES} name */
export const widthOf = (name) => found[name] ?? 0;
