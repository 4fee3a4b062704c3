// Animations of what a step forward has changed. The next step completes animations that still run;
// readers who prefer reduced motion see none.

import { stage } from "./stage";

import type { DrawnFrame as Frame } from "../../figures/frame.py";
import type { DrawnTree as Tree } from "../../figures/tree.py";

export const calm = matchMedia("(prefers-reduced-motion: reduce)");
const seenMoves = new Set(); // kinds of change that were shown before, and can be faster now
const OUT = "cubic-bezier(.2, .7, .3, 1)";

let running: Animation[] = [];

/** Complete running animations, since their elements may show something else now. */
export function completeMotion() {
  for (const animation of running) animation.finish();
  running = [];
}

export function animate(frame: Frame) {
  if (calm.matches) return;
  const { kind } = frame.step;
  if (kind === "propose") revealGuesses(frame.tree);
  if (kind === "score") growTarget();
  if (kind === "judge") fall(stage.find(".sv-trial .sv-pin"));
  if (kind === "judge" && frame.caption.is === "rejected") moveResidual();
  if (kind === "draw") fall(stage.find(".sv-draw .sv-pin"));
  if (kind === "commit") glide(stage.find(".sv-now"), [{ opacity: 0.3 }, { opacity: 1 }], 200);
}

function glide(target: Element | null, frames: Keyframe[], duration: number, easing = OUT) {
  const made = target?.animate(frames, { duration, easing, fill: "backwards" });
  if (made) running.push(made);
  return made;
}

const fall = (pin: HTMLElement | null) =>
  glide(pin, [{ left: "0" }, { left: pin?.style.left }], 180);

// Let the guesses of the newest column appear from above, 60 ms apart.
function revealGuesses({ nodes, layout: { places } }: Tree) {
  const deepest = Math.max(0, ...Object.values(nodes).map((node) => node.depth));
  const column = Object.keys(nodes).filter((id) => nodes[id].depth === deepest && places[id]);
  column.sort((a, b) => places[a][1] - places[b][1]);
  column.forEach((id, at) => {
    for (const each of stage.all(`.sv-tree [data-node="${id}"], .sv-tree [data-line="${id}"]`))
      glide(each, [{ opacity: 0 }, { opacity: 0 }, { opacity: 1 }], 60 * (at + 1), "step-end");
  });
}

// Show all p at once: bars under the words fade in, those of the chart grow from the left.
function growTarget() {
  for (const bar of stage.all(".sv-tree .sv-twig-p, .sv-tree .sv-twig-soft"))
    glide(bar, [{ opacity: 0 }, { opacity: 1 }], 300);
  for (const bar of stage.all(".sv-chart .sv-f-p"))
    glide(bar, [{ transform: "scaleX(0)" }, { transform: "scaleX(1)" }], 300);
}

// Move the part of p above q to its own column, then to the scaled one: slowly the first time.
function moveResidual() {
  const duration = seenMoves.has("residual") ? 150 : 400;
  seenMoves.add("residual");
  for (const bar of stage.all(".sv-table .sv-cl .sv-f-r")) {
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
