// A token on trial: p over q, and the coin.

import { drawing, el, percent } from "../shared/dom.js";
import { there } from "../shared/there.js";
import { coinTicks } from "./ticks.js";
import { movable } from "./whatif.js";

/** @import { AskedPanel, TossedTrial, TrialPanel } from "./data.js" */

const COINLESS = "Temperature 0: no coin. The outline is the target's softmax at temperature 1.";

// p over q on one scale; the coin's bar is the q bar magnified, so its covered part is "keep".
/** @param {AskedPanel | TrialPanel} panel */
export function trial(panel) {
  if (panel.asked) return unanswered(panel);
  const scale = 0.86 / Math.max(panel.p, panel.q, panel.soft || 0, 1e-9);
  const covered = Math.min(panel.p, panel.q);
  const p = barRow("target p", panel.text.p, "p");
  p.track.append(fill("p", panel.p * scale));
  if (panel.soft !== undefined) p.track.append(fill("soft", panel.soft * scale));
  place(p.number, Math.max(panel.p, panel.soft || 0) * scale);
  const rows = [p.row];
  if (!panel.coin) return [...rows, el("p", "sv-nocoin", COINLESS)];
  const q = barRow("draft q", panel.point ? "1" : panel.text.q, "q");
  q.track.append(fill("q", covered * scale), fill("over", (panel.q - covered) * scale));
  place(q.number, panel.q * scale);
  rows.push(q.row, lens(covered * scale, panel.q * scale, panel.coin.threshold), coin(panel));
  return rows;
}

// Before the answer: p over q, and where the coin will lie. At temperature 0 p is the verdict.
/** @param {AskedPanel} panel */
function unanswered({ p, q = 0, soft = 0, text, point }) {
  const scale = 0.86 / Math.max(p || 0, q, soft, 1e-9);
  const greedy = p === undefined;
  const [label, ink] = greedy ? ["softmax", "soft"] : ["target p", "p"];
  const target = barRow(label, text ? text.p : "", ink);
  place(target.number, (greedy ? soft : p) * scale);
  if (greedy) {
    target.track.append(fill("soft", soft * scale));
    return [target.row, el("p", "sv-nocoin", COINLESS)];
  }
  const both = Math.min(p, q);
  const draft = barRow("draft q", point ? "1" : there(text?.q), "q");
  target.track.append(fill("p", p * scale));
  draft.track.append(fill("q", both * scale), fill("over", (q - both) * scale));
  place(draft.number, q * scale);
  const bar = el("div", "sv-coin sv-coin-to-come", "hidden until you answer");
  const box = el("div", "", bar, el("div", "sv-ticks"));
  const coin = el("div", "sv-cr", el("span", "sv-l", "coin u"), box);
  return [target.row, draft.row, el("div", "sv-lens"), coin];
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
