// Motion, only where a step on has changed something. Whatever comes next paints anew and so
// completes what still runs; those who ask for less motion get none.

import { el } from "../shared/dom.js";
import { drawn } from "../shared/plot.js";
import { there } from "../shared/there.js";
import { squash } from "./size.js";
import { $, stage } from "./stage.js";

/** @import { Figure } from "../shared/data.js" */
/** @import { Frame, Tree } from "./data.js" */

const calm = matchMedia("(prefers-reduced-motion: reduce)");
const seenMoves = new Set(); // kinds of change that were seen already, and may be quicker now
const OUT = "cubic-bezier(.2, .7, .3, 1)";

/** @param {Frame} frame */
export function animate(frame) {
  if (calm.matches) return;
  const { kind } = frame.step;
  if (kind === "propose") revealGuesses(frame.tree);
  if (kind === "score") growTarget(frame.tree.figure, frame.panel.figure);
  if (kind === "judge") fall(stage.find(".sv-coin .sv-pin"));
  if (kind === "judge" && frame.caption.is === "rejected") moveResidual();
  if (kind === "draw") fall(stage.find(".sv-dbar .sv-pin"));
  if (kind === "commit") glide($(".sv-now"), [{ opacity: 0.3 }, { opacity: 1 }], 200);
}

/** @param {Element | null} target @param {Keyframe[]} frames @param {number} duration */
function glide(target, frames, duration, easing = OUT) {
  return target ? target.animate(frames, { duration, easing, fill: "backwards" }) : null;
}

/** @param {HTMLElement | null} pin */
const fall = (pin) => glide(pin, [{ left: "0" }, { left: pin?.style.left }], 180);

// The guesses of the newest column appear from above, 60 ms apart: what covers them shrinks.
/** @param {Tree} tree */
function revealGuesses(tree) {
  const felt = tree.figure.data["80-hover"];
  const deepest = Math.max(0, ...Object.values(tree.nodes).map((node) => node.depth));
  const spots = felt.customdata
    .map((node, index) => ({ depth: tree.nodes[node]?.depth, x: felt.x[index], y: felt.y[index] }))
    .filter(({ depth }) => depth === deepest);
  if (!spots.length) return;
  const cover = el("i", "sv-cover");
  const [left, top] = [
    Math.min(...spots.map(({ x }) => x)) - 46,
    Math.min(...spots.map(({ y }) => y)) * squash() - 18,
  ];
  const bottom = Math.max(...spots.map(({ y }) => y)) * squash() + 30;
  Object.assign(cover.style, {
    left: left + "px",
    top: top + "px",
    width: "140px",
    height: bottom - top + "px",
  });
  $(".sv-treewide").append(cover);
  const shrunk = [{ clipPath: "inset(0)" }, { clipPath: "inset(100% 0 0 0)" }];
  const steps = "steps(" + spots.length + ", start)";
  there(glide(cover, shrunk, 60 * spots.length, steps)).finished.then(
    () => cover.remove(),
    () => cover.remove(),
  );
}

// All p at once: bars under the words fade in, those of the chart grow from the left.
/** @param {Figure} figure @param {Figure | undefined} chart */
function growTarget(figure, chart) {
  const name = Object.keys(figure.data)
    .sort()
    .find((key) => key.startsWith("40-"));
  glide(name ? drawn($(".sv-tree"), figure, name) : null, [{ opacity: 0 }, { opacity: 1 }], 300);
  const bars = chart ? drawn($(".sv-chart"), chart, "10-p") : null;
  for (const bar of bars ? bars.querySelectorAll(".point path") : []) {
    glide(bar, [{ transform: "scaleX(0)" }, { transform: "scaleX(1)" }], 300);
  }
}

// What p has above q travels to its own column, then to the scaled one: slowly once.
function moveResidual() {
  const duration = seenMoves.has("residual") ? 150 : 400;
  seenMoves.add("residual");
  for (const bar of $(".sv-table").querySelectorAll(".sv-cl .sv-f-r")) {
    glide(
      bar,
      [
        { transform: "translateX(-90px)", opacity: 0 },
        { transform: "none", opacity: 1 },
      ],
      duration,
    );
  }
}
