// Draw the page at the cursor: every part of the player draws its part of the frame.

import { render } from "../shared/view.js";
import { Caption, SentencePart } from "./caption.js";
import { AskTheClass } from "./class_vote.js";
import { fitSteps, showDock } from "./dock.js";
import { relight } from "./hover_links.js";
import { fitInspector, showInspector } from "./inspector.js";
import { remember } from "./links.js";
import { animate, calm, completeMotion } from "./motion.js";
import { now } from "./cursor.js";
import { isSimple, knowsTerms } from "./mode.js";
import { isRacing } from "./opening_race.js";
import { Answers, feedbackHere, PredictFirst } from "./predict_first.js";
import { frameAt, questionAt, reel, stepName } from "./reel.js";
import { measure } from "./room.js";
import { showLanes } from "./simple_lanes.js";
import { showPicture } from "./simple_picture.js";
import { timeAt } from "./simple_times.js";
import { fit, reserve, setMargins } from "./size.js";
import { $, stage } from "./stage.js";
import { scrollTargetPass, showTargetPass } from "./target_pass.js";
import { showTimeline } from "./timeline.js";
import { scrollTokenStrip, showTokenStrip } from "./token_strip.js";
import { follow, showTree } from "./tree.js";
import { supposedFrame, WhatIfSentence } from "./what_if.js";

/** @import { DrawnFrame as Frame } from "../../figures/charts.py" */
/** @import { Part } from "../../texts/__init__.py" */
/** @typedef {Parameters<typeof Caption>} Said */

export function paint() {
  if (!reel.rounds.length) return showCaption(nothingYet());
  if (isRacing()) return undefined;
  completeMotion();
  if (!fit()) measure();
  const { round } = now.at;
  const frame = shownFrame();
  const refocus = holdFocus();
  draw(frame, round);
  remember(frame);
  window.dispatchEvent(new Event("sv-moment"));
  settle(frame);
  refocus();
  relight();
  return undefined;
}

/** @param {Frame} frame @param {number} round */
function draw(frame, round) {
  setMargins();
  showCaption(captionOf(frame));
  showTokenStrip(frame, round);
  if (isSimple()) {
    showLanes(timeAt(round, now.at.step), false);
    showPicture(frame, round);
    return showDock();
  }
  showInspector(frame);
  showTargetPass(frame.pass);
  showTree(frame.tree);
  reserve(round);
  showDock();
  showTimeline(frame, round);
  return undefined;
}

/**
 * Draw another step, look at it, and draw the step on screen again, before the browser shows anything.
 * @template Found
 * @param {number} round
 * @param {number} step
 * @param {() => Found} look
 * @returns {Found}
 */
export function glimpse(round, step, look) {
  const refocus = holdFocus();
  const { at, question, whatIf } = now;
  Object.assign(now, { at: { round, step }, question: null, whatIf: null });
  completeMotion();
  measure();
  const frame = frameAt(round, step);
  draw(frame, round);
  settle(frame);
  for (const motion of $(".sv").getAnimations({ subtree: true })) motion.finish();
  const found = look();
  Object.assign(now, { at, question, whatIf });
  paint();
  refocus();
  return found;
}

/** The frame to show: that of an open question or a "What if", else what happened. */
function shownFrame() {
  if (now.question) return questionAt(...now.question);
  const { round, step } = now.at;
  const frame = frameAt(round, step);
  const is = now.whatIf?.is;
  return is ? supposedFrame(frame, questionAt(round, step), is) : frame;
}

/** @param {Said} said */
const showCaption = (said) =>
  render([Caption(...said), PredictFirst(AskTheClass())], $(".sv-caption"));

/** The caption before the first run. @returns {Said} */
const nothingYet = () => [
  "",
  "",
  [
    stage.config.recorded.length || !stage.config.served
      ? ""
      : "Write a prompt and press Run live.",
  ],
];

/**
 * Return the caption: a supposition, question or answer, if there is one, or else what happened.
 * @param {Frame} frame @returns {Said}
 */
function captionOf({ caption: { is, label, parts, simple } }) {
  if (now.whatIf && !isEchoed()) return ["if", "What if?", WhatIfSentence(now.whatIf)];
  if (now.question) return [is, label, [...parts.map(SentencePart), " ", Answers()]];
  const said = isSimple() && simple ? simple.map(forNewcomers) : parts;
  const name = isSimple() ? (EVERYDAY[is] ?? label) : label;
  return [is, name, (feedbackHere() ?? said).map(SentencePart)];
}

/** The names of steps in everyday words. @type {Partial<Record<string, string>>} */
const EVERYDAY = {
  propose: "Guess",
  score: "Check",
  accepted: "Kept",
  recovered: "Replaced",
  bonus: "One more",
  plain: "One word",
  commit: "Result",
};

// The names of the two models: in everyday words together with the field's, until the reader knows
// these.
/** @type {Record<string, string>} */
const FIELD_WORDS = { draft: "drafter", target: "target" };

/** @param {Part} part @returns {Part} */
function forNewcomers(part) {
  if (typeof part === "string" || part.t === undefined) return part;
  const word = FIELD_WORDS[part.term];
  return { ...part, t: knowsTerms() ? word : `${part.t} (${word})` };
}

// On a narrow page, the sentence about a moved coin is below the coin: see coin_bar.js.
const isEchoed = () => now.whatIf?.coin && $(".sv").matches(".sv-slim");

// Parts that need the positions of what was drawn come last, so that the layout is computed only
// once.
/** @param {Frame} frame */
function settle(frame) {
  if (isSimple()) return scrollTokenStrip();
  fitInspector(frame);
  fitSteps();
  scrollTokenStrip();
  scrollTargetPass();
  follow(frame.tree);
  return undefined;
}

// The cursor has moved, possibly one step forward.
/** @param {boolean} onward */
export function paintMove(onward) {
  paint();
  reveal();
  if (onward) animate(frameAt(now.at.round, now.at.step));
}

// If the window is too low for both the text and the coin, or the strip of a new coin, scroll down to
// it, unless the reader has scrolled further.
export function reveal() {
  if (isSimple()) return;
  const { kind } = stepName(now.at.round, now.at.step);
  const coin = stage.find(kind === "draw" ? ".sv-drow" : ".sv-cr-coin");
  if (!coin) return;
  const edges = [".sv-time", ".sv-dock", ".sv-buttons"]
    .map((name) => $(name).getBoundingClientRect())
    .map(({ top, height }) => (height ? top : innerHeight));
  const below = coin.getBoundingClientRect().bottom - Math.min(innerHeight, ...edges);
  if (below > 1) scrollBy({ top: below + 4, behavior: calm.matches ? "auto" : "smooth" });
}

// A step replaces the element that has the focus; its successor gets the focus, which would
// otherwise be lost.
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
