// The random number u (the coin) on the bar of the acceptance probability. At a verdict, the reader
// can move it with the pointer or with keys to see what another value would do (what_if.js).

import { percent } from "../shared/dom.js";
import { classes, h, termAttributes } from "../shared/view.js";
import { branch } from "./branch.js";
import { go, now } from "./cursor.js";
import { linkAttributes } from "./hover_links.js";
import { pause } from "./playback.js";
import { widthOf } from "./room.js";
import { moveCoin, moveDraw, WhatIfSentence } from "./what_if.js";

/** @import { TossedPanel } from "../../frames/inspector.py" */
/** @import { Share } from "../../frames/draw.py" */
/** @import { WhatIf } from "../../frames/whatif.py" */
/** @typedef {[from: number, to: number]} Stretch A part of the bar; the whole bar is from 0 to 1. */

export const trackWidth = () => Math.max(widthOf("panel") - 71, 200);

/** @param {TossedPanel} panel */
export function CoinBar(panel) {
  const moved = now.whatIf?.coin;
  const { u, text } = moved ?? { u: panel.coin.u, text: panel.text.u };
  const hint = panel.whatif ? h("span", { class: "sv-hint-drag" }, "↔ what if?") : null;
  const whatIf = now.whatIf ? WhatIfSentence(now.whatIf) : null;
  return h(
    "div",
    { class: "sv-cr sv-cr-coin" },
    h("span", { class: "sv-l" }, "coin u", hint),
    h(
      "div",
      null,
      Bar(panel, u, moved?.text ?? String(u)),
      Ticks(panel, u, text),
      // On a narrow page, the caption is out of view while the coin is moved, so it is repeated
      // here.
      h("p", { class: "sv-echo", role: "status" }, whatIf),
    ),
  );
}

export const HiddenCoin = () =>
  h(
    "div",
    { class: "sv-cr sv-cr-coin" },
    h("span", { class: "sv-l" }, "coin u"),
    h(
      "div",
      null,
      h("div", { class: "sv-coin sv-coin-to-come" }, "hidden until you answer"),
      h("div", { class: "sv-ticks" }),
    ),
  );

/** @param {TossedPanel} panel @param {number} u @param {string} spoken */
function Bar(panel, u, spoken) {
  const { coin, whatif } = panel;
  const { threshold } = coin;
  const was = h("i", { class: "sv-pin sv-pin-was", style: { left: percent(coin.u) } });
  const controls = whatif && coinControls(panel, whatif, u, spoken);
  return h(
    "div",
    {
      class: classes("sv-coin", whatif && "sv-movable"),
      ...controls?.track,
    },
    h("span", {
      class: "sv-keep",
      style: { width: percent(threshold) },
      ...linkAttributes("both"),
    }),
    threshold < 1 ? h("span", { class: "sv-no" }) : null,
    Sides(threshold, u),
    now.whatIf?.coin ? was : null,
    h("i", {
      class: "sv-pin",
      style: { left: percent(u) },
      ...linkAttributes("u"),
      ...controls?.pin,
    }),
  );
}

/** @param {(u: number) => void} move Called with the position of the pointer on the bar. */
function dragging(move) {
  /** @param {PointerEvent & { currentTarget: HTMLElement }} event */
  const follow = ({ clientX, currentTarget }) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    move((clientX - left) / width);
  };
  return {
    title: "Drag the coin: what if it had another value?",
    /** @param {PointerEvent & { currentTarget: HTMLElement }} event */
    onPointerDown(event) {
      event.preventDefault(); // otherwise arrow keys would move the coin instead of stepping
      pause();
      event.currentTarget.setPointerCapture(event.pointerId);
      follow(event);
    },
    /** @param {PointerEvent & { currentTarget: HTMLElement }} event */
    onPointerMove(event) {
      if (event.currentTarget.hasPointerCapture(event.pointerId)) follow(event);
    },
  };
}

/** @type {Partial<Record<string, number>>} */
const STRIDES = {
  ArrowLeft: -0.01,
  ArrowDown: -0.01,
  ArrowRight: 0.01,
  ArrowUp: 0.01,
  PageDown: -0.1,
  PageUp: 0.1,
  Home: -1,
  End: 1,
};

/**
 * Attributes that let keys move the coin: arrows move it, Enter runs it, Escape restores it.
 * @param {(u: number) => void} move
 * @param {number} u
 * @param {string} spoken
 * @param {string} label
 */
const sliderAttributes = (move, u, spoken, label) => ({
  role: /** @type {const} */ ("slider"),
  tabindex: 0,
  "aria-valuemin": 0,
  "aria-valuemax": 1,
  "aria-valuenow": /** @type {any} */ (spoken),
  "aria-label": label,
  /** @param {KeyboardEvent} event */
  onKeyDown(event) {
    const by = STRIDES[event.key];
    if (event.key === "Enter" && now.whatIf?.coins) branch();
    else if (event.key === "Escape") go(now.at.round, now.at.step);
    else if (by) move(u + by);
    else return;
    event.preventDefault();
    event.stopPropagation();
  },
});

/**
 * Return the attributes with which the coin of a verdict is moved: of its bar, and of its pin.
 * @param {TossedPanel} panel
 * @param {WhatIf} whatif
 * @param {number} u
 * @param {string} [spoken]
 */
export function coinControls(panel, whatif, u, spoken = String(u)) {
  const move = (/** @type {number} */ to) => moveCoin(to, panel, whatif);
  const label = "Coin: arrow keys move it, Enter runs from here, Escape goes back";
  return { track: dragging(move), pin: sliderAttributes(move, u, spoken, label) };
}

/**
 * Return the attributes with which the coin that draws a word is moved.
 * @param {Share[]} shares
 * @param {number} u
 */
export function drawControls(shares, u) {
  const move = (/** @type {number} */ to) => moveDraw(to, shares);
  const label = "Coin of the draw: arrow keys move it, Escape goes back";
  return { track: dragging(move), pin: sliderAttributes(move, u, String(u), label) };
}

// Return the wider part of a stretch that the pin divides.
/** @param {Stretch} stretch @param {number} u @param {number} pin @returns {Stretch} */
function widest([from, to], u, pin) {
  if (u <= from - pin || u >= to + pin) return [from, to];
  return u - pin - from > to - u - pin ? [from, u - pin] : [u + pin, to];
}

/**
 * The words on the bar, each on its side of the threshold, where there is most space.
 * @param {number} threshold @param {number} u
 */
function Sides(threshold, u) {
  const pin = 11 / trackWidth();
  return [
    Side("keep", "accept", widest([0, threshold], u, pin)),
    Side("reject", "reject", widest([threshold, 1], u, pin)),
  ];
}

/** @param {string} name @param {string} text @param {Stretch} stretch */
function Side(name, text, [from, to]) {
  if (to - from < (6 * 7.2) / trackWidth()) return null;
  return h(
    "span",
    { class: "sv-side sv-side-" + name, style: { left: percent((from + to) / 2) } },
    text,
  );
}

/**
 * The labels under the bar: the probability of acceptance, and the coin.
 * @param {TossedPanel} panel @param {number} u @param {string} text
 */
function Ticks(panel, u, text) {
  const { threshold, sum } = panel.text;
  const chance = sum ?? (panel.q === undefined ? threshold : ratioText(panel, panel.q));
  const coin = "u = " + text;
  const [wide, slim] = [chance, coin].map((each) => (each.length * 7.9) / trackWidth());
  const [bar, pin] = [within(panel.coin.threshold, wide / 2), within(u, slim / 2)];
  const beside = placeBeside(bar, pin, (wide + slim) / 2 + 0.015, wide / 2);
  return h(
    "div",
    { class: classes("sv-ticks", beside === null && "sv-two") },
    Tick("sv-ink-both", "threshold", beside ?? bar, chance),
    Tick("sv-u", "coin", pin, coin),
  );
}

/** @param {string} kind @param {string} term @param {number} at @param {string} text */
const Tick = (kind, term, at, text) =>
  h("span", { class: kind, style: { left: percent(at) }, ...termAttributes(term) }, text);

/** @param {number} value @param {number} margin */
const within = (value, margin) => Math.min(Math.max(value, margin), 1 - margin);

/**
 * Return how the probability is computed from p and q, or from what remains of them.
 * @param {TossedPanel} panel @param {number} q
 */
function ratioText({ p, laws, text }, q) {
  const [one, other] = ["p", "q"].map((name) => name + (laws.left.includes(name) ? "′" : ""));
  if (p >= q) return one + " ≥ " + other + ": 1";
  return text.p + " ÷ " + text.q + " = " + text.threshold;
}

/**
 * Return where the label of the probability fits beside that of the coin; null if they need two
 * lines.
 * @param {number} wanted
 * @param {number} pin
 * @param {number} apart
 * @param {number} margin
 */
function placeBeside(wanted, pin, apart, margin) {
  if (Math.abs(wanted - pin) >= apart) return wanted;
  const [left, right] = [pin - apart, pin + apart];
  const near = wanted <= pin ? [left, right] : [right, left];
  return near.find((place) => place >= margin && place <= 1 - margin) ?? null;
}
