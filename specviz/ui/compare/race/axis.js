// The axis of time, and its pin: a slider whose arrows go from one pass's end to the next.

import { el } from "../../shared/dom.js";
import { act, seek, time } from "./clock.js";
import { hands } from "./hands.js";
import { called, longest, passesBy, story, tokensBy } from "./lines.js";
import { $ } from "./stage.js";
import { clocked, many } from "./words.js";

let ticks = []; // [left edge and right edge in px, element]
let nearEdge = 0; // how far the pin's words are moved, so that a narrow screen does not cut them
const UNITS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500];
const PIN = 34; // px: half of the pin's words, and some air

export function showTicks(width, end) {
  const most = width > 600 ? 5 : 3;
  const unit = UNITS.find((each) => end / each <= most) || end;
  const made = [];
  for (let at = 0; at <= end + 1e-9; at += unit) {
    const tick = el("span", "", at.toFixed(unit < 0.1 ? 2 : 1) + " s");
    const left = (at / end) * width;
    tick.style.left = left + "px";
    made.push([left, left + 40, tick]);
  }
  ticks = made;
  $(".sv-race-ticks").replaceChildren(...made.map(([, , tick]) => tick));
}

// The pin's words; ticks that they would stand on are hidden meanwhile.
export function showPin(seconds, width, end) {
  const x = end ? (seconds / end) * width : 0,
    pin = $(".sv-race-pin b");
  pin.textContent = clocked(seconds);
  const edge = $(".sv-race").classList.contains("sv-race-slim") ? Math.max(0, PIN - 8 - x) : 0;
  if (edge !== nearEdge) pin.style.marginLeft = edge + "px";
  nearEdge = edge;
  for (const tick of ticks) {
    const under = tick[1] > x + edge - PIN && tick[0] < x + edge + PIN;
    if (under !== (tick[3] || false)) tick[2].classList.toggle("sv-race-under", under);
    tick[3] = under;
  }
}

// What the slider says. While it plays, not at every frame: a reader would never come to an end.
export function tellTime(now = !hands.playing) {
  const pin = $(".sv-race-pin"),
    seconds = time();
  if (!now) return;
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

// The next moment at which some pass ends, or the one before.
function neighbour(seconds, way) {
  const all = [...story.lanes.values()].flatMap((lane) => lane.ends);
  const there = all.filter((at) => (way > 0 ? at > seconds + 1e-6 : at < seconds - 1e-6));
  if (!there.length) return way > 0 ? longest() : 0;
  return way > 0 ? Math.min(...there) : Math.max(...there);
}

const STRIDES = {
  ArrowRight: () => neighbour(time(), 1),
  ArrowUp: () => neighbour(time(), 1),
  ArrowLeft: () => neighbour(time(), -1),
  ArrowDown: () => neighbour(time(), -1),
  PageUp: () => time() + longest() / 10,
  PageDown: () => time() - longest() / 10,
  Home: () => 0,
  End: () => longest(),
};

export function onAxisKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === " ") act("play");
  else if (STRIDES[event.key]) seek(STRIDES[event.key]());
  else return;
  event.preventDefault();
}

// Dragging the pin, or a press anywhere on the axis.
export function onAxisPress(event) {
  if (event.button !== 0 || !longest()) return;
  const axis = $(".sv-race-axis");
  const go = (to) => {
    const box = $(".sv-race-ticks").getBoundingClientRect();
    seek(((to.clientX - box.left) / box.width) * longest());
  };
  axis.setPointerCapture(event.pointerId);
  axis.addEventListener("pointermove", go);
  axis.addEventListener("lostpointercapture", () => axis.removeEventListener("pointermove", go), {
    once: true,
  });
  event.preventDefault();
  $(".sv-race-pin").focus({ preventScroll: true });
  go(event);
}
