// The cursor: where the reader is, how it moves, and autoplay.

import { icon } from "../shared/dom.js";
import { showCaption } from "./caption.js";
import { showDock } from "./dock.js";
import { ask, mustAsk, reveal } from "./guess.js";
import { remember } from "./links.js";
import { waiting } from "./live.js";
import { animate } from "./motion.js";
import { now } from "./now.js";
import { showPanel } from "./panel.js";
import { frameAt, reel, stepsOf } from "./reel.js";
import { $, stage } from "./stage.js";
import { showText } from "./text.js";
import { showTime } from "./time.js";
import { showTree } from "./tree.js";

const PACE = { propose: 450, score: 1000, judge: 1500, draw: 2000, commit: 1100 };
let timer = null;
let untilRejection = false;

/** @returns {[number, number] | null} */
export function following(round, step) {
  if (round >= reel.rounds.length) return null;
  if (step + 1 < stepsOf(round)) return [round, step + 1];
  return round + 1 < reel.rounds.length ? [round + 1, 0] : null;
}

/** @returns {[number, number] | null} */
function preceding(round, step) {
  if (step > 0) return [round, step - 1];
  return round > 0 ? [round - 1, stepsOf(round - 1) - 1] : null;
}

export function go(round, step) {
  if (!reel.rounds.length) return;
  const index = Math.max(0, Math.min(round, reel.rounds.length - 1));
  const to = { round: index, step: Math.max(0, Math.min(step, stepsOf(index) - 1)) };
  const onward = to.round === now.at.round && to.step === now.at.step + 1;
  now.at = to;
  now.question = null;
  paint();
  if (onward) animate(frameAt(now.at.round, now.at.step));
}

// One step on; false at the end.
function advance() {
  const to = following(now.at.round, now.at.step);
  if (now.question) reveal();
  else if (to && mustAsk(to)) ask(to);
  else if (to) go(...to);
  return Boolean(to);
}

export function paint() {
  if (!reel.rounds.length) return;
  const frame = frameAt(now.at.round, now.at.step);
  const refocus = holdFocus();
  now.supposed = null;
  showCaption(frame.caption);
  showText(frame, now.at.round);
  showPanel(frame.panel);
  showTree(frame.tree);
  showDock(now.at.round, now.at.step);
  showTime(frame, now.at.round);
  remember(frame);
  if (now.question) ask(now.question);
  refocus();
}

// What has the focus is made anew by a step: its successor takes it, or it would be lost.
const HELD = [".sv-spot", ".sv-pin[role=slider]", ".sv-seg, .sv-step", ".sv-chip", ".sv-done"];

function holdFocus() {
  const held = document.activeElement;
  const kind = stage.element.contains(held) && HELD.find((selector) => held.matches(selector));
  const place = kind ? [...stage.element.querySelectorAll(kind)].indexOf(held) : -1;
  return () => {
    if (!kind || held.isConnected) return;
    const all = [...stage.element.querySelectorAll(kind)];
    const same = all.find(
      (each) => each.getAttribute("aria-label") === held.getAttribute("aria-label"),
    );
    const next = same || all[Math.min(place, all.length - 1)];
    if (next) next.focus({ preventScroll: true });
  };
}

const DO = {
  first: () => go(0, 0),
  last: () => go(reel.rounds.length - 1, stepsOf(reel.rounds.length - 1) - 1),
  next: advance,
  back: () => {
    const to = preceding(now.at.round, now.at.step);
    if (to) go(...to);
  },
  play: () => (timer ? pause() : play(false)),
};
export const KEYS = {
  ArrowRight: "next",
  ArrowLeft: "back",
  Home: "first",
  End: "last",
  " ": "play",
};

export function act(name) {
  if (name !== "play") pause();
  if (reel.rounds.length) DO[name]();
}

// Autoplay. On its own it starts once, and halts at the first rejection.
export function play(halts) {
  untilRejection = halts;
  clearTimeout(timer);
  timer = setTimeout(tick, pace());
  showPlay();
}

function pace() {
  return reel.rounds.length ? PACE[frameAt(now.at.round, now.at.step).step.kind] : 200;
}

function tick() {
  const moved = advance();
  if (now.question || (!moved && !waiting())) return pause();
  const rejected = frameAt(now.at.round, now.at.step).caption.is === "rejected";
  if (untilRejection && moved && rejected) return pause();
  timer = setTimeout(tick, pace());
}

export function pause() {
  clearTimeout(timer);
  timer = null;
  showPlay();
}

function showPlay() {
  const button = $("[data-do=play]");
  button.replaceChildren(icon(timer ? "pause" : "play"));
  button.setAttribute("aria-label", timer ? "Pause" : "Play");
}
