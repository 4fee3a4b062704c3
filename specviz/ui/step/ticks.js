// What stands under a coin's bar: the chance that it is for, and where the coin lies.

import { el, percent } from "../shared/dom.js";

/** @import { DrawnTrial, TossedTrial } from "./data.js" */

/** @param {TossedTrial} panel @param {number} u @param {string} said */
export function coinTicks(panel, u, said) {
  const { threshold } = panel.coin;
  const chance = panel.q === undefined ? panel.text.threshold : ratio(panel);
  const bar = el("span", "sv-ink-both", chance);
  const pin = el("span", "sv-u", "u = " + said);
  bar.style.left = percent(Math.min(Math.max(threshold, 0.14), 0.86));
  pin.style.left = percent(Math.min(Math.max(u, 0.06), 0.94));
  const ticks = el("div", "sv-ticks", bar, pin);
  if (Math.abs(threshold - u) < 0.34) ticks.classList.add("sv-two");
  return ticks;
}

// How the chance follows from p and q, as they stand on this try.
/** @param {DrawnTrial} panel */
function ratio({ p, q, laws, text }) {
  const [one, other] = ["p", "q"].map((name) => name + (laws.left.includes(name) ? "′" : ""));
  if (p >= q) return one + " ≥ " + other + ": 1";
  return text.p + " ÷ " + text.q + " = " + text.threshold;
}
