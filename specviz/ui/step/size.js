// The player's own width decides its layout (a page may be zoomed, so the window's does not), and
// what a round will need is kept free from its first step on, so that nothing moves while stepping.

import { flat } from "../shared/dom.js";
import { paint } from "./cursor.js";
import { frameAt, reel, stepsOf } from "./reel.js";
import { $, stage } from "./stage.js";

let fitted = 0; // the width that is laid out

function fit() {
  const root = $(".sv");
  const width = root.clientWidth;
  if (width === fitted) return;
  fitted = width;
  root.classList.toggle("sv-one", width < 1216);
  root.classList.toggle("sv-slim", width <= 728);
  paint();
}

export function showSize() {
  fit();
  new ResizeObserver(fit).observe(stage.element);
}

// Without coins there is no table of a rejection. The narrow tree has a row for every position, and
// one for the token that ends the round; the narrow sentence has lines for the round's longest.
const LINE = 36; // letters of a sentence on a narrow line, at the least

export function reserve(round) {
  const frames = Array.from({ length: stepsOf(round) }, (_, step) => frameAt(round, step));
  const longest = Math.max(...frames.map((frame) => letters(frame.caption.parts)));
  $(".sv-caption").style.setProperty("--lines", Math.max(3, Math.ceil(longest / LINE)));
  $(".sv-evidence").classList.toggle("sv-coinless", reel.run.greedy);
  const nodes = Object.values(frames[frames.length - 1].tree.nodes);
  $(".sv-list").style.setProperty("--rows", Math.max(0, ...nodes.map((node) => node.depth)) + 1);
}

const letters = (parts) =>
  parts.reduce(
    (sum, each) => sum + (typeof each === "string" ? each : each.n || flat(each.w)).length,
    0,
  );
