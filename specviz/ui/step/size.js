// The player's own width decides its layout (a page may be zoomed, so the window's does not), and
// what a round will need is kept free from its first step on, so that nothing moves while stepping.

import { flat } from "../shared/dom.js";
import { there } from "../shared/there.js";
import { frameAt, reel, stepsOf } from "./reel.js";
import { $, stage } from "./stage.js";

/** @import { Part } from "./data.js" */

let fitted = 0; // the width that is laid out

/** @param {() => void} paint */
function fit(paint) {
  const root = $(".sv");
  const width = root.clientWidth;
  if (width === fitted) return;
  fitted = width;
  root.classList.toggle("sv-one", width < 1216);
  root.classList.toggle("sv-slim", width <= 728);
  paint();
}

// Lays the player out for its width, now and whenever that changes; then `paint` is called.
/** @param {() => void} paint */
export function showSize(paint) {
  fit(paint);
  new ResizeObserver(() => fit(paint)).observe(stage.element);
}

// Without coins there is no table of a rejection. The narrow tree has a row for every position, and
// one for the token that ends the round; the narrow sentence has lines for the round's longest.
const LINE = 32; // letters of a sentence on a narrow line, at the least

/** @param {number} round */
export function reserve(round) {
  const frames = Array.from({ length: stepsOf(round) }, (_, step) => frameAt(round, step));
  const most = Math.max(3, ...frames.map((frame) => linesOf(said(frame.caption.parts), LINE)));
  $(".sv-caption").style.setProperty("--lines", String(most));
  $(".sv-evidence").classList.toggle("sv-coinless", there(reel.run).greedy);
  const nodes = Object.values(frames[frames.length - 1].tree.nodes);
  const deepest = Math.max(0, ...nodes.map((node) => node.depth));
  $(".sv-list").style.setProperty("--rows", String(deepest + 1));
}

/** @param {Part[]} parts */
const said = (parts) =>
  parts
    .map((each) =>
      typeof each === "string" ? each : each.w ? "[" + flat(each.w) + "]" : each.t || each.n,
    )
    .join("");

/** How many lines a text fills where so many letters fit on one; a longer word is broken.
 * @param {string} text
 * @param {number} wide */
export function linesOf(text, wide) {
  let lines = 1;
  let used = 0;
  for (const word of text.split(" ")) {
    const fits = used + word.length <= wide;
    lines += (used && !fits ? 1 : 0) + Math.max(0, Math.ceil(word.length / wide) - 1);
    used = (fits ? used : 0) + word.length + 1;
  }
  return lines;
}
