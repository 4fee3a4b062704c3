// The widths that parts of the player have, and its zoom, read once before anything is written: a
// reading between two writes would make the browser compute styles or the whole layout again.

import { $ } from "./stage";

const PLACES = {
  player: ".sv",
  panel: ".sv-panel",
  tree: ".sv-treewide",
  columns: ".sv-treebox",
};

let found: Partial<Record<keyof typeof PLACES, number>> = {};
/** The zoom of the tree and the inspector, in which larger text is shown. */
export let zoom = 1;

export function measure() {
  zoom = $(".sv-evidence").currentCSSZoom ?? 1;
  const read = Object.entries(PLACES).map(([name, place]) => [name, $(place).clientWidth]);
  found = Object.fromEntries(read);
}

/** Return how wide a part was when the page was last drawn, in pixels; 0 if it is not shown. */
export const widthOf = (name: keyof typeof PLACES) => found[name] ?? 0;
