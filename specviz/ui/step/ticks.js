// The labels under a coin's bar: the probability of acceptance, and the coin.

import { el, percent } from "../shared/dom.js";
import { between, trackWidth } from "./sides.js";

/** @import { DrawnTrial, TossedTrial } from "./data.js" */

/** @param {TossedTrial} panel @param {number} u @param {string} said */
export function coinTicks(panel, u, said) {
  const { threshold } = panel.coin;
  const { threshold: alone, sum } = panel.text;
  const chance = sum ?? (panel.q === undefined ? alone : ratio(panel));
  const bar = el("span", "sv-ink-both", chance);
  const pin = el("span", "sv-u", "u = " + said);
  const [wide, slim] = [chance, "u = " + said].map((text) => (text.length * 7.9) / trackWidth());
  const at = between(u, slim / 2);
  const beside = besides(between(threshold, wide / 2), at, (wide + slim) / 2 + 0.015, wide / 2);
  bar.style.left = percent(beside ?? between(threshold, wide / 2));
  pin.style.left = percent(at);
  const ticks = el("div", "sv-ticks", bar, pin);
  ticks.classList.toggle("sv-two", beside === null);
  return ticks;
}

// How the probability follows from p and q, or from their remainders.
/** @param {DrawnTrial} panel */
function ratio({ p, q, laws, text }) {
  const [one, other] = ["p", "q"].map((name) => name + (laws.left.includes(name) ? "′" : ""));
  if (p >= q) return one + " ≥ " + other + ": 1";
  return text.p + " ÷ " + text.q + " = " + text.threshold;
}

// Both on one line if they fit: the coin stays at its pin and the probability moves aside; else null,
// and each gets a line.
/** @param {number} wanted @param {number} pin @param {number} apart @param {number} margin */
function besides(wanted, pin, apart, margin) {
  if (Math.abs(wanted - pin) >= apart) return wanted;
  const [left, right] = [pin - apart, pin + apart];
  const near = wanted <= pin ? [left, right] : [right, left];
  return near.find((place) => place >= margin && place <= 1 - margin) ?? null;
}
