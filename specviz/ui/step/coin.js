// A token on trial: p over q, and the coin.

import { drawing, el, percent } from "../shared/dom.js";
import { $ } from "./stage.js";
import { movable } from "./whatif.js";

// p over q on one scale; the coin's bar is the q bar magnified, so its covered part is "keep".
export function trial(panel) {
  const room = 1 - numberRoom(panel);
  const scale = Math.min(0.86, room) / Math.max(panel.p, panel.q, panel.soft || 0, 1e-9);
  const covered = Math.min(panel.p, panel.q);
  const p = barRow("target p", panel.text.p, "p");
  p.track.append(fill("p", panel.p * scale));
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
  const q = barRow("draft q", panel.point ? "1" : panel.text.q, "q");
  q.track.append(fill("q", covered * scale), fill("over", (panel.q - covered) * scale));
  place(q.number, panel.q * scale);
  rows.push(q.row, lens(covered * scale, panel.q * scale, panel.coin.threshold), coin(panel));
  return rows;
}

function barRow(label, text, ink) {
  const number = el("b", "sv-ink-" + ink, text);
  const track = el("div", "sv-bar", number);
  return { row: el("div", "sv-cr", el("span", "sv-l", label), track), track, number };
}

function fill(name, width) {
  const made = el("i", "sv-f sv-f-" + name);
  made.style.width = percent(width);
  return made;
}

function place(number, at) {
  number.style.left = percent(at);
}

function lens(covered, whole, keep) {
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

// The coin on the bar of its chance. On the step of its verdict it can be moved: see 56-whatif.js.
function coin(panel) {
  const { u, threshold } = panel.coin;
  const keep = el("span", "sv-keep");
  keep.style.width = percent(threshold);
  const no = threshold < 1 ? el("span", "sv-no") : null;
  const pin = el("i", "sv-pin");
  pin.style.left = percent(u);
  const bar = el("div", "sv-coin", keep, no, ...sides(threshold, u, Boolean(panel.whatif)), pin);
  const box = el("div", "", bar, coinTicks(panel, u, panel.text.u), el("p", "sv-echo"));
  if (panel.whatif) movable(bar, pin, panel);
  return el("div", "sv-cr", el("span", "sv-l", "coin u"), box);
}

export function coinTicks(panel, u, said) {
  const { threshold } = panel.coin;
  const how = panel.point || panel.q <= 0 ? "" : panel.text.p + " ÷ " + panel.text.q + " = ";
  const chance = panel.p >= panel.q && !panel.point ? "p ≥ q: 1" : how + panel.text.threshold;
  const ticks = el(
    "div",
    "sv-ticks",
    el("span", "sv-ink-both", chance),
    el("span", "sv-u", "u = " + said),
  );
  const [wide, slim] = [chance, "u = " + said].map((text) => (text.length * 7.9) / trackWidth());
  const at = between(u, slim / 2);
  const chanceAt = besides(between(threshold, wide / 2), at, (wide + slim) / 2 + 0.015, wide / 2);
  ticks.firstChild.style.left = percent(chanceAt ?? between(threshold, wide / 2));
  ticks.lastChild.style.left = percent(at);
  ticks.classList.toggle("sv-two", chanceAt === null);
  return ticks;
}

const between = (value, margin) => Math.min(Math.max(value, margin), 1 - margin);

// Both on one line: where the coin fell stays at its pin, the chance makes room for it; null where
// there is none, for a line of its own.
function besides(wanted, pin, apart, margin) {
  if (Math.abs(wanted - pin) >= apart) return wanted;
  const [left, right] = [pin - apart, pin + apart];
  const near = wanted <= pin ? [left, right] : [right, left];
  return near.find((place) => place >= margin && place <= 1 - margin) ?? null;
}

const trackWidth = () => Math.max($(".sv-panel").clientWidth - 71, 200);

// The share of a bar's track that its number takes.
function numberRoom(panel) {
  const longest = Math.max(panel.text.p?.length || 0, panel.text.q?.length || 0);
  return (longest * 9.2 + 10) / trackWidth();
}

// The words on the coin's bar, each in the wider free stretch of its side of the threshold.
export function sides(threshold, u, hinted) {
  const pin = 11 / trackWidth();
  const widest = (from, to) => {
    const cut = u > from - pin && u < to + pin;
    const parts = cut
      ? [
          [from, u - pin],
          [u + pin, to],
        ]
      : [[from, to]];
    return parts.reduce((a, b) => (b[1] - b[0] > a[1] - a[0] ? b : a));
  };
  /**
   * @param {string} name
   * @param {number[]} stretch
   * @param {number} letters
   */
  const said = (name, stretch, letters) => {
    const [from, to] = stretch;
    if (to - from < (letters * 7.2) / trackWidth()) return [];
    const made = el("span", "sv-side sv-side-" + name, name);
    made.style.left = percent((from + to) / 2);
    return [made];
  };
  const free = Math.max(threshold, u + pin);
  const hint =
    hinted && (1 - free) * trackWidth() > 190 ? [el("span", "sv-hint", "drag: what if?")] : [];
  const no = hint.length ? [free, 1 - 104 / trackWidth()] : widest(threshold, 1);
  return [...said("keep", widest(0, threshold), 4.5), ...said("reject", no, 6), ...hint];
}
