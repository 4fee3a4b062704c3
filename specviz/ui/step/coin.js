// The guess being judged: p over q, and the coin.

import { drawing, el, percent } from "../shared/dom.js";
import { there } from "../shared/there.js";
import { link } from "./hover_links.js";
import { numberRoom, sides } from "./sides.js";
import { coinTicks } from "./ticks.js";
import { movable } from "./whatif.js";

/** @import { AskedPanel, TossedTrial, TrialPanel } from "./data.js" */

const COINLESS =
  "Temperature 0 needs no coin. The outline is the target's softmax at temperature 1.";

// p over q on one scale; the coin's bar is the q bar magnified, so its covered part means "accept".
/** @param {AskedPanel | TrialPanel} panel */
export function trial(panel) {
  if (panel.asked && panel.p === undefined) return softmax(panel);
  const { rows, covered, whole } = bars(panel, there(panel.p));
  if (panel.asked) return [...rows, el("div", "sv-lens"), hiddenCoin()];
  if (!panel.coin) return [rows[0], el("p", "sv-nocoin", COINLESS)];
  return [...rows, lens(covered, whole, panel.coin.threshold), coin(panel)];
}

// The bars of both distributions, and their lengths; without q the coin's bar is all of p's scale.
/** @param {AskedPanel | TrialPanel} panel @param {number} p */
function bars(panel, p) {
  const { laws, text, soft } = panel;
  const whole = panel.q ?? (panel.asked || panel.coin ? 1 : 0);
  const texts = Object.values(text || {}).map(String);
  const scale = Math.min(0.8, 1 - numberRoom(texts)) / Math.max(p, whole, soft || 0, 1e-9);
  const [covered, over] = [Math.min(p, whole) * scale, Math.max(whole - p, 0) * scale];
  /** @param {string} name */
  const left = (name) => (laws.left.includes(name) ? " sv-left-" + name : "");
  const [mine, ink] = laws.owed ? ["r", "residual"] : ["p" + left("p"), "p"];
  const target = barRow(laws.p, there(text).p, ink);
  target.track.append(fill(mine, p * scale));
  if (soft !== undefined) target.track.append(fill("soft", soft * scale));
  place(target.number, Math.max(p, soft || 0) * scale);
  const found = { covered, whole: whole * scale };
  if (laws.none !== undefined) {
    target.track.append(fill("whole", over));
    const none = el("span", "sv-l", laws.none);
    const above = el("div", "sv-cr", el("span", "sv-l", "drafter q"), none);
    return { ...found, rows: panel.asked || panel.coin ? [above, target.row] : [target.row] };
  }
  const given = there(text);
  const draft = barRow(laws.q, "q" in given ? there(given.q) : "", "q");
  draft.track.append(fill(laws.owed ? "r" : "q" + left("q"), covered), fill("over", over));
  place(draft.number, whole * scale);
  return { ...found, rows: [target.row, draft.row] };
}

// Before the answer at temperature 0, where p is the verdict.
/** @param {AskedPanel} panel */
function softmax({ soft = 0, text }) {
  const scale = 0.8 / Math.max(soft, 1e-9);
  const target = barRow("softmax", text ? text.p : "", "soft");
  target.track.append(fill("soft", soft * scale));
  place(target.number, soft * scale);
  return [target.row, el("p", "sv-nocoin", COINLESS)];
}

function hiddenCoin() {
  const bar = el("div", "sv-coin sv-coin-to-come", "hidden until you answer");
  return el(
    "div",
    "sv-cr sv-cr-coin",
    el("span", "sv-l", "coin u"),
    el("div", "", bar, el("div", "sv-ticks")),
  );
}

/** @param {string} label @param {string} text @param {string} ink */
function barRow(label, text, ink) {
  const number = el("b", "sv-ink-" + ink, text);
  const track = el("div", "sv-bar", number);
  const row = link(el("div", "sv-cr", el("span", "sv-l", label), track), ink);
  return { row, track, number };
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
  return el("div", "sv-cr sv-cr-lens", el("span"), svg);
}

// The coin on the bar of its probability. At its verdict it can be moved: see whatif.js.
/** @param {TossedTrial} panel */
function coin(panel) {
  const { u, threshold } = panel.coin;
  const keep = link(el("span", "sv-keep"), "both");
  keep.style.width = percent(threshold);
  const no = threshold < 1 ? el("span", "sv-no") : null;
  const pin = link(el("i", "sv-pin"), "u");
  pin.style.left = percent(u);
  const words = sides(threshold, u);
  const bar = el("div", "sv-coin", keep, no, ...words, pin);
  const box = el("div", "", bar, coinTicks(panel, u, panel.text.u), el("p", "sv-echo"));
  if (panel.whatif) movable(bar, pin, panel, panel.whatif);
  const hint = panel.whatif ? el("span", "sv-hint-drag", "↔ what if?") : null;
  return el("div", "sv-cr sv-cr-coin", el("span", "sv-l", "coin u", hint), box);
}
