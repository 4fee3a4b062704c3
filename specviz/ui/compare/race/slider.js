// The pin as a slider: arrow keys move to the end of the next pass, a press or drag to its position.

import { act, seek, time } from "./clock.js";
import { longest, story } from "./lines.js";
import { $ } from "./stage.js";

// The next or previous moment at which a pass ends.
/** @param {number} seconds @param {number} way */
function neighbour(seconds, way) {
  const all = [...story.lanes.values()].flatMap((lane) => lane.ends);
  const there = all.filter((at) => (way > 0 ? at > seconds + 1e-6 : at < seconds - 1e-6));
  if (!there.length) return way > 0 ? longest() : 0;
  return way > 0 ? Math.min(...there) : Math.max(...there);
}

/** @type {Record<string, () => number>} */
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

/** @param {KeyboardEvent} event */
export function onAxisKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === " ") act("play");
  else if (STRIDES[event.key]) seek(STRIDES[event.key]());
  else return;
  event.preventDefault();
}

// Dragging the pin, or a press anywhere on the axis.
/** @param {PointerEvent} event */
export function onAxisPress(event) {
  if (event.button !== 0 || !longest()) return;
  const axis = $(".sv-race-axis");
  /** @param {PointerEvent} to */
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
