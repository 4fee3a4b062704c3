// What stands under a coin's bar: the chance that it is for, and where the coin lies.

import { el, percent } from "../shared/dom.js";

/** @import { TossedTrial } from "./data.js" */

/** @param {TossedTrial} panel @param {number} u @param {string} said */
export function coinTicks(panel, u, said) {
  const { threshold } = panel.coin;
  const how = panel.point || panel.q <= 0 ? "" : panel.text.p + " ÷ " + panel.text.q + " = ";
  const chance = panel.p >= panel.q && !panel.point ? "p ≥ q: 1" : how + panel.text.threshold;
  const bar = el("span", "sv-ink-both", chance);
  const pin = el("span", "sv-u", "u = " + said);
  bar.style.left = percent(Math.min(Math.max(threshold, 0.14), 0.86));
  pin.style.left = percent(Math.min(Math.max(u, 0.06), 0.94));
  const ticks = el("div", "sv-ticks", bar, pin);
  if (Math.abs(threshold - u) < 0.34) ticks.classList.add("sv-two");
  return ticks;
}
