// The bars of p or q. Each bar is a slider for mouse, touch and keyboard.

import { flat, percent } from "../../shared/dom.js";
import { h } from "../../shared/view.js";
import { gridStyle } from "../shared/output_columns.js";

/** @import { Word } from "../../../frames/scene.py" */
/** @import { DistributionName } from "./state.js" */

/**
 * @typedef {object} Bars
 * @property {DistributionName} name
 * @property {Word[]} words
 * @property {number[]} values By word.
 * @property {number} scale The probability of a full bar.
 * @property {(at: number, value: number) => void} onMove
 * @property {(drags: boolean) => void} onDrag A drag has begun or ended.
 */

/** @type {Record<string, number>} */
const STRIDES = {
  ArrowUp: 0.01,
  ArrowRight: 0.01,
  ArrowDown: -0.01,
  ArrowLeft: -0.01,
  PageUp: 0.1,
  PageDown: -0.1,
  Home: -1,
  End: 1,
};
const TITLES = { p: "Target", q: "Draft" };

/** @param {Bars} bars */
export function ProbabilityBars(bars) {
  const { name, words } = bars;
  return h(
    "div",
    {
      class: "sv-sand-bars",
      "data-law": name,
      role: "group",
      "aria-label": TITLES[name] + " " + name,
      style: gridStyle(words),
    },
    ...words.map((_, at) => Bar(bars, at)),
  );
}

/** @param {Bars} bars @param {number} at */
function Bar({ name, words, values, scale, onMove, onDrag }, at) {
  const value = values[at].toFixed(2);
  const height = percent(Math.min(1, values[at] / scale));
  /** @param {number} to */
  const move = (to) => onMove(at, Math.min(Math.max(to, 0), 1));
  /** @param {PointerEvent & { currentTarget: HTMLElement }} event */
  const follow = ({ currentTarget, pointerId, clientY }) => {
    if (!currentTarget.hasPointerCapture(pointerId)) return;
    const { bottom, height } = currentTarget.getBoundingClientRect();
    move(((bottom - clientY) / height) * scale);
  };
  return h(
    "div",
    {
      class: "sv-sand-bar",
      role: "slider",
      tabindex: 0,
      "aria-orientation": "vertical",
      "aria-valuemin": 0,
      "aria-valuemax": 1,
      "aria-valuenow": Number(value),
      "aria-label": TITLES[name] + ": " + flat(words[at]),
      onPointerDown: (event) => {
        if (event.button !== 0) return;
        onDrag(true);
        event.currentTarget.setPointerCapture(event.pointerId);
        follow(event);
      },
      onPointerMove: follow,
      onLostPointerCapture: () => onDrag(false),
      onKeyDown: (event) => {
        const by = STRIDES[event.key];
        if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        move(values[at] + by);
      },
    },
    h("i", { class: "sv-sand-fill sv-sand-is-" + name, style: { height } }),
    h("b", { style: { bottom: height } }, value),
  );
}
