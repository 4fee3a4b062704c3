// The time axis, and the label of its pin.

import { el } from "../../shared/dom.js";
import { hands } from "./hands.js";
import { called, longest, passesBy, story, tokensBy } from "./lines.js";
import { $ } from "./stage.js";
import { clocked, many } from "./words.js";

/** @type {{ left: number, right: number, tick: HTMLElement, under: boolean }[]} */
let ticks = []; // left, right: edges in px; under: hidden by the pin's label
let nearEdge = 0; // how far the pin's label is moved so that a narrow screen does not cut it
const UNITS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500];
const PIN = 34; // px: half of the pin's label, and some space

/** @param {number} width @param {number} end */
export function showTicks(width, end) {
  const most = width > 600 ? 5 : 3;
  const unit = UNITS.find((each) => end / each <= most) || end;
  const made = [];
  for (let at = 0; at <= end + 1e-9; at += unit) {
    const tick = el("span", "", at.toFixed(unit < 0.1 ? 2 : 1) + " s");
    const left = (at / end) * width;
    tick.style.left = left + "px";
    made.push({ left, right: left + 40, tick, under: false });
  }
  ticks = made;
  $(".sv-race-ticks").replaceChildren(...made.map(({ tick }) => tick));
}

// Update the pin's label; ticks below it are hidden.
/** @param {number} seconds @param {number} width @param {number} end */
export function showPin(seconds, width, end) {
  const x = end ? (seconds / end) * width : 0,
    pin = $(".sv-race-pin b");
  pin.textContent = clocked(seconds);
  const edge = $(".sv-race").classList.contains("sv-race-slim") ? Math.max(0, PIN - 8 - x) : 0;
  if (edge !== nearEdge) pin.style.marginLeft = edge + "px";
  nearEdge = edge;
  for (const one of ticks) {
    const under = one.right > x + edge - PIN && one.left < x + edge + PIN;
    if (under !== one.under) one.tick.classList.toggle("sv-race-under", under);
    one.under = under;
  }
}

// Update the slider's text for screen readers, but not while it plays: they would never finish.
/** @param {number} seconds */
export function tellTime(seconds) {
  if (hands.playing) return;
  const pin = $(".sv-race-pin");
  pin.setAttribute("aria-valuemax", longest().toFixed(3));
  pin.setAttribute("aria-valuenow", seconds.toFixed(3));
  const said = [...story.lanes.values()].map(
    (lane) => called(lane.name) + " " + many(tokensBy(lane, passesBy(lane, seconds)), "token"),
  );
  pin.setAttribute(
    "aria-valuetext",
    [clocked(seconds) + " of " + clocked(longest()), ...said].join(", "),
  );
}
