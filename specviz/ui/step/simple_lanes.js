// The two time rows of the Simple mode: the big model alone, and with a small one that guesses. They
// move with every step. In the opening they race over the same text.

import { percent } from "../shared/dom.js";
import { classes, h, render, RunningToken } from "../shared/view.js";
import { Swatch } from "./legend.js";
import { reel } from "./reel.js";
import { passesAt, speedUp, sum, wholeTime, wordsAt } from "./simple_times.js";
import { $ } from "./stage.js";

/** @import { ComponentChild } from "preact" */
/** @typedef {{ at: number, long: number, kind: "prompt" | "target" | "draft" }} Block Times in seconds. */

/** @param {number} until Seconds since the start of the run. @param {boolean} races */
export function showLanes(until, races) {
  $(".sv-lanes").classList.toggle("sv-races", races);
  render(Lanes(until, races), $(".sv-lanes"));
}

/** @param {number} until @param {boolean} races */
function Lanes(until, races) {
  const plain = reel.baseline ? sum(reel.baseline.seconds) : 0;
  const scale = 1 / Math.max(plain, wholeTime(), 1e-9);
  const passes = reel.rounds.length;
  const words = sum(reel.rounds.map(({ brings }) => brings.length));
  return [
    Lane(
      ["The big model alone", "one word per pass"],
      reel.baseline
        ? Track(plainBlocks(), scale, Math.min(until, plain))
        : h("span", { class: "sv-lanes-none" }, unmeasured()),
      races
        ? [passesAt(until), "words"]
        : [reel.baseline ? reel.baseline.seconds.length : "", "passes"],
      races ? TextUpTo(Math.min(passesAt(until), words)) : null,
    ),
    Lane(
      [`A ${guesser()} guesses`, "the big one checks"],
      Track(blocks(), scale, Math.min(until, wholeTime())),
      races ? [wordsAt(until), "words"] : [passes, passes === 1 ? "pass" : "passes"],
      races ? TextUpTo(wordsAt(until)) : null,
    ),
    h("div", { class: "sv-lanes-under" }, Keys(until), races ? null : Verdict()),
  ];
}

const unmeasured = () =>
  reel.run?.source === "live" && reel.finished?.reason !== "stopped"
    ? "measured next"
    : "not measured";

function Verdict() {
  const speed = speedUp();
  if (!speed) return null;
  const faster = Number(speed) > 1 ? " × faster: " : " × as fast: ";
  return h("b", { class: "sv-lanes-speed" }, speed + faster + "each check takes longer");
}

// The key has only what has begun by this time.
/** @param {number} until */
function Keys(until) {
  const begun = new Set(blocks().flatMap(({ at, kind }) => (at < until ? [kind] : [])));
  return [
    begun.has("target") ? Key("p", "big model’s pass") : null,
    begun.has("draft") ? Key("q", "guessing") : null,
    Key("prompt", "reading the prompt"),
    until < wholeTime() * (1 - 1e-9) ? Key("ahead", "to come") : null,
  ];
}

/** Return the drafter in everyday words, as the run's own sentences call it. */
function guesser() {
  const parts = reel.rounds.flatMap(({ first }) => first.caption.simple ?? []);
  const name = parts.find((part) => typeof part !== "string" && part.term === "draft");
  return (typeof name === "object" && name.t) || "small model";
}

/** @param {string} hue @param {string} label */
const Key = (hue, label) => h("span", { key: hue }, Swatch(hue), label);

/**
 * @param {[string, string]} names @param {ComponentChild} track
 * @param {[ComponentChild, string]} count @param {ComponentChild} text
 */
const Lane = ([name, how], track, [count, unit], text) =>
  h(
    "div",
    { key: name, class: "sv-lanes-row" },
    h("div", { class: "sv-lanes-who" }, h("b", null, name), h("span", null, how)),
    h("div", { class: "sv-lanes-track" }, track),
    h("div", { class: "sv-lanes-count" }, count === "" ? null : [h("b", null, count), " ", unit]),
    text && h("div", { class: "sv-lanes-text" }, text),
  );

/** @returns {Block[]} */
function plainBlocks() {
  let at = 0;
  return (reel.baseline?.seconds ?? []).map((long, index) => {
    at += long;
    return { at: at - long, long, kind: index ? "target" : "prompt" };
  });
}

/** @returns {Block[]} */
function blocks() {
  let at = 0;
  return reel.rounds.flatMap(({ number, seconds: [draft, target, rest] }) => {
    const from = at;
    at += draft + target + rest;
    /** @type {Block} */
    const pass = { at: from + draft, long: target, kind: number ? "target" : "prompt" };
    return draft ? [{ at: from, long: draft, kind: "draft" }, pass] : [pass];
  });
}

/** @param {Block[]} all @param {number} scale @param {number} until */
function Track(all, scale, until) {
  return [
    all.map(({ at, long, kind }, index) => {
      const done = Math.min(1, Math.max(0, (until * (1 + 1e-9) - at) / long));
      return h(
        "i",
        {
          key: index,
          class: classes("sv-block", "sv-block-" + kind),
          style: { left: percent(at * scale), width: percent(long * scale) },
        },
        h("i", { style: { width: percent(done) } }),
      );
    }),
    h("i", {
      key: "line",
      class: "sv-lanes-line",
      style: { left: percent(Math.min(1, until * scale)) },
    }),
  ];
}

/** The text of this run up to a number of words; its end, if it is long. @param {number} words */
function TextUpTo(words) {
  const all = reel.rounds.flatMap(({ brings }) => brings).slice(0, words);
  return h(
    "span",
    null,
    all.map(([pieces], at) => h("span", { key: at }, RunningToken(pieces))),
  );
}
