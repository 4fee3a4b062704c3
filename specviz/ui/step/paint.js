// The page at the cursor: every part of the player paints its part of the frame.

import { showCaption } from "./caption.js";
import { fitSteps, showDock } from "./dock.js";
import { showEnd } from "./ending.js";
import { showGuess } from "./guess.js";
import { relight } from "./hover_links.js";
import { remember } from "./links.js";
import { animate } from "./motion.js";
import { now } from "./now.js";
import { plotPanel, showPanel } from "./panel.js";
import { frameAt, questionAt, reel } from "./reel.js";
import { measure } from "./room.js";
import { stage } from "./stage.js";
import { scrollText, showText } from "./text.js";
import { showTime } from "./time.js";
import { showTargetPass } from "./target_pass.js";
import { follow, plotTree, showTree } from "./tree.js";

/** @import { Tree } from "./data.js" */

export function paint() {
  if (!reel.rounds.length) return;
  measure();
  const { round, step } = now.at;
  const frame = now.question ? questionAt(...now.question) : frameAt(round, step);
  const refocus = holdFocus();
  now.supposed = null;
  plotTree(frame.tree); // plotly reads places, which are known as long as nothing was written
  plotPanel(frame.panel);
  showCaption(frame.caption);
  showText(frame, round);
  showPanel(frame.panel);
  showTargetPass(frame.pass, frame.tree);
  if (frame.step.kind === "end") showEnd(frame.panel.times);
  showTree(frame.tree);
  showDock(round, step);
  showTime(frame, round);
  remember(frame);
  showGuess();
  settle(frame.tree);
  refocus();
  relight();
}

// What needs the places of what was painted comes last, so that they are laid out once.
/** @param {Tree} tree */
function settle(tree) {
  fitSteps();
  scrollText();
  follow(tree);
}

// The cursor has moved, perhaps one step on.
/** @param {boolean} onward */
export function paintMove(onward) {
  paint();
  if (onward) animate(frameAt(now.at.round, now.at.step));
}

// What has the focus is made anew by a step: its successor takes it, or it would be lost.
const HELD = [".sv-spot", ".sv-pin[role=slider]", ".sv-seg, .sv-step", ".sv-chip", ".sv-done"];

function holdFocus() {
  const held = document.activeElement;
  const mine = held && stage.element.contains(held);
  const kind = mine && HELD.find((selector) => held.matches(selector));
  if (!kind) return () => {};
  /** @type {Element[]} */
  const before = stage.all(kind);
  const place = before.indexOf(held);
  return () => {
    if (held.isConnected) return;
    const all = stage.all(kind);
    const same = all.find(
      (each) => each.getAttribute("aria-label") === held.getAttribute("aria-label"),
    );
    const next = same || all[Math.min(place, all.length - 1)];
    if (next) next.focus({ preventScroll: true });
  };
}
