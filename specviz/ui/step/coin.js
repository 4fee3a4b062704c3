// A token on trial: p over q, and the coin.

import { drawing, el, percent } from "../shared/dom.js";
import { coinTicks } from "./ticks.js";
import { movable } from "./whatif.js";

/** @import { TossedTrial, TrialPanel } from "./data.js" */

// p over q on one scale; the coin's bar is the q bar magnified, so its covered part is "keep".
/** @param {TrialPanel} panel */
export function trial(panel) {
  const whole = panel.q ?? (panel.coin ? 1 : 0); // without q the coin's bar is all of p's scale
  const scale = 0.8 / Math.max(panel.p, whole, panel.soft || 0, 1e-9);
  const covered = Math.min(panel.p, whole);
  /** @param {string} name */
  const left = (name) => (panel.laws.left.includes(name) ? " sv-left-" + name : "");
  const p = barRow(panel.laws.p, panel.text.p, "p");
  p.track.append(fill("p" + left("p"), panel.p * scale));
  if (panel.soft !== undefined) p.track.append(fill("soft", panel.soft * scale));
  place(p.number, Math.max(panel.p, panel.soft || 0) * scale);
  const rows = [p.row];
  if (!panel.coin) {
    rows.push(
      el(
        "p",
        "sv-nocoin",
        "Temperature 0: no coin. The outline is the target's softmax at temperature 1.",
      ),
    );
    return rows;
  }
  if (panel.q === undefined) {
    p.track.append(fill("whole", (whole - covered) * scale));
    const none = el("span", "sv-l", panel.laws.none);
    rows.unshift(el("div", "sv-cr", el("span", "sv-l", "draft q"), none));
  } else {
    const q = barRow(panel.laws.q, panel.text.q, "q");
    q.track.append(fill("q" + left("q"), covered * scale), fill("over", (whole - covered) * scale));
    place(q.number, whole * scale);
    rows.push(q.row);
  }
  rows.push(lens(covered * scale, whole * scale, panel.coin.threshold), coin(panel));
  return rows;
}

/** @param {string} label @param {string} text @param {string} ink */
function barRow(label, text, ink) {
  const number = el("b", "sv-ink-" + ink, text);
  const track = el("div", "sv-bar", number);
  return { row: el("div", "sv-cr", el("span", "sv-l", label), track), track, number };
}

/** @param {string} name @param {number} width */
function fill(name, width) {
  const made = el("i", "sv-f sv-f-" + name);
  made.style.width = percent(width);
  return made;
}

/** @param {HTMLElement} number @param {number} at */
function place(number, at) {
  number.style.left = percent(at);
}

/** @param {number} covered @param {number} whole @param {number} keep */
function lens(covered, whole, keep) {
  /** @param {number} value */
  const x = (value) => (100 * value).toFixed(2);
  const svg = drawing(
    "0 0 100 20",
    [
      ["M0 0H" + x(covered) + "L" + x(keep) + " 20H0z", "sv-lens-keep"],
      ["M" + x(covered) + " 0H" + x(whole) + "L100 20H" + x(keep) + "z", "sv-lens-over"],
    ],
    "sv-lens",
  );
  svg.setAttribute("preserveAspectRatio", "none");
  return el("div", "sv-cr", el("span"), svg);
}

// The coin on the bar of its chance. On the step of its verdict it can be moved: see whatif.js.
/** @param {TossedTrial} panel */
function coin(panel) {
  const { u, threshold } = panel.coin;
  const keep = el("span", "sv-keep", threshold > 0.08 ? "keep" : "");
  keep.style.width = percent(threshold);
  const no = threshold < 1 ? el("span", "sv-no", threshold < 0.86 ? "reject" : "") : null;
  const pin = el("i", "sv-pin");
  pin.style.left = percent(u);
  if (no && panel.whatif && threshold < 0.5) no.append(el("span", "sv-hint", "drag: what if?"));
  const bar = el("div", "sv-coin", keep, no, pin);
  const box = el("div", "", bar, coinTicks(panel, u, panel.text.u), el("p", "sv-echo"));
  if (panel.whatif) movable(bar, pin, panel, panel.whatif);
  return el("div", "sv-cr", el("span", "sv-l", "coin u"), box);
}
