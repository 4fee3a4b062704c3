// Draw the page at the cursor: every part of the player draws its part of the frame.

import { lesson, moment } from "../shared/store";
import { render } from "../shared/view";
import { Caption, SentencePart } from "./caption";
import { AskTheClass } from "./class_vote";
import { fitSteps, showDock } from "./dock";
import { relight } from "./hover_links";
import { fitInspector, showInspector } from "./inspector";
import { remember } from "./links";
import { animate, calm, completeMotion } from "./motion";
import { frameAt, player, questionAt, stepName } from "./state";
import { isSimple, knowsTerms } from "./mode";
import { isRacing } from "./opening_race";
import { Answers, feedbackHere, PredictFirst } from "./predict_first";
import { measure } from "./room";
import { showTimes } from "./lanes";
import { showPicture } from "./simple_picture";
import { fit, reserve, setMargins } from "./size";
import { $, stage } from "./stage";
import { scrollTargetPass, showTargetPass } from "./target_pass";
import { scrollTokenStrip, showTokenStrip } from "./token_strip";
import { follow, showTree } from "./tree";
import { otherDraw, supposedFrame, WhatIfSentence } from "./what_if";

import type { DrawnFrame as Frame } from "../../figures/frame.py";
import type { Part } from "../../texts/__init__.py";
export type Said = Parameters<typeof Caption>;

export function paint() {
  if (!player.rounds.length) return showCaption(nothingYet());
  if (isRacing()) return undefined;
  completeMotion();
  const { round } = player.at;
  const frame = shownFrame();
  $(".sv").dataset.part = partShown(frame);
  if (!fit()) measure();
  const refocus = holdFocus();
  draw(frame, round);
  remember(frame);
  moment.set(player.at);
  settle(frame);
  refocus();
  relight();
  return undefined;
}

// What a lesson is about, by its selector.
const PARTS: Record<string, string> = {
  ".sv-tree-part": "tree",
  ".sv-pass": "pass",
  ".sv-panel": "panel",
  ".sv-table": "panel",
  ".sv-time": "time",
};

/** Return the part of Details that presenter mode shows in a low window; see 73-present.css. */
function partShown({ step: { kind }, pass }: Frame) {
  const part = PARTS[lesson.value?.look ?? ""];
  if (part) return part;
  if (kind === "propose") return "tree";
  return kind === "score" && pass ? "pass" : "panel";
}

function draw(frame: Frame, round: number) {
  setMargins();
  showCaption(captionOf(frame));
  showTokenStrip(frame, round);
  if (isSimple()) {
    showTimes();
    showPicture(frame, round);
    return showDock();
  }
  showInspector(frame);
  showTargetPass(frame.pass);
  showTree(frame.tree);
  reserve(round);
  showDock();
  return showTimes();
}

/** Draw another step, look at it, and draw the step on screen again, before the browser shows anything. */
export function glimpse<Found>(round: number, step: number, look: () => Found): Found {
  const refocus = holdFocus();
  const { at, question, whatIf } = player;
  Object.assign(player, { at: { round, step }, question: null, whatIf: null });
  completeMotion();
  measure();
  const frame = frameAt(round, step);
  draw(frame, round);
  settle(frame);
  for (const motion of $(".sv").getAnimations({ subtree: true })) motion.finish();
  const found = look();
  Object.assign(player, { at, question, whatIf });
  paint();
  refocus();
  return found;
}

/** The frame to show: that of an open question or a "What if", else what happened. */
function shownFrame() {
  if (player.question) return questionAt(...player.question);
  const { round, step } = player.at;
  const frame = frameAt(round, step);
  const { is, drawn } = player.whatIf ?? {};
  if (drawn !== undefined && isSimple()) return otherDraw(frame, drawn);
  return is ? supposedFrame(frame, questionAt(round, step), is) : frame;
}

const showCaption = (said: Said) =>
  render([Caption(...said), PredictFirst(AskTheClass())], $(".sv-caption"));

/** The caption before the first run. */
const nothingYet = (): Said => [
  "",
  "",
  [
    stage.config.recorded.length || !stage.config.served
      ? ""
      : "Write a prompt and press Run live.",
  ],
];

/** Return the caption: a supposition, question or answer, if there is one, or else what happened. */
function captionOf(frame: Frame): Said {
  const { is, label, parts } = frame.caption;
  if (player.whatIf && !isEchoed()) return ["if", "What if?", WhatIfSentence(player.whatIf)];
  if (player.question) return [is, label, [...parts.map(SentencePart), " ", Answers()]];
  const said = sayingOf(frame);
  return [is, said.label, (feedbackHere() ?? said.parts).map(SentencePart)];
}

/** What the caption says about what happened, in the words of the mode on screen. */
export function sayingOf({ caption: { is, label, parts, simple } }: Frame) {
  if (!isSimple()) return { label, parts };
  return { label: EVERYDAY[is] ?? label, parts: simple?.map(forNewcomers) ?? parts };
}

/** The names of steps in everyday words. */
const EVERYDAY: Partial<Record<string, string>> = {
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
const FIELD_WORDS: Record<string, string> = { draft: "drafter", target: "target" };

function forNewcomers(part: Part): Part {
  if (typeof part === "string" || part.t === undefined) return part;
  const word = FIELD_WORDS[part.term];
  return { ...part, t: knowsTerms() ? word : `${part.t} (${word})` };
}

// In Details on a narrow page, the sentence about a moved coin is below the coin: see coin.tsx.
const isEchoed = () => player.whatIf?.coin && !isSimple() && $(".sv").matches(".sv-slim");

// Parts that need the positions of what was drawn come last, so that the layout is computed only
// once.
function settle(frame: Frame) {
  if (isSimple()) return scrollTokenStrip();
  fitInspector(frame);
  fitSteps();
  scrollTokenStrip();
  scrollTargetPass();
  follow(frame.tree);
  return undefined;
}

// The cursor has moved, possibly one step forward.
export function paintMove(onward: boolean) {
  paint();
  reveal();
  if (onward) animate(frameAt(player.at.round, player.at.step));
}

// If the window is too low for both the text and the coin, or the strip of a new coin, scroll down to
// it, unless the reader has scrolled further.
export function reveal() {
  if (isSimple()) return;
  const { kind } = stepName(player.at.round, player.at.step);
  const coin = stage.find(kind === "draw" ? ".sv-draw .sv-toss" : ".sv-trial .sv-toss");
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
  const before: Element[] = stage.all(kind);
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
