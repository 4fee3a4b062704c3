// The draw, and what is said under a table.

import { el, flat, percent, word } from "../shared/dom.js";
import { $ } from "./stage.js";

function lumps(panel) {
  const rest = panel.table?.rows.find((each) => each.rest);
  if (!rest) return null;
  const many = rest.rest.toLocaleString("en") + " others: compared one by one, then summed. ";
  return el("p", "sv-note", many + "Rounded to " + panel.table.digits + " decimals.");
}

// Whether a share of the strip is as wide as its name.
function fits(part) {
  const letters = part.rest ? 6 : flat(part.w).length;
  return part.m * ($(".sv-panel").clientWidth - 85) > letters * 7.6 + 6;
}

// One token's stretch of the strip, or that of all that are not shown.
function stretch(part) {
  const wide = fits(part);
  const name = wide ? (part.rest ? "others" : word(part.w)) : "";
  const made = el("span", "sv-share" + (part.hit ? " sv-hit" : ""), name);
  made.style.width = percent(part.m);
  made.title = (part.rest ? "others" : flat(part.w)) + " " + part.m.toFixed(4);
  return made;
}

// Where its share is too narrow for the word that was drawn: beside the pin.
function named(view) {
  const made = el("b", "sv-name", word(view.shares.find((part) => part.hit).w));
  if (view.u > 0.8) made.classList.add("sv-name-left");
  made.style.left = percent(view.u);
  return made;
}

// The law as a strip in the order it is walked, and where the coin fell on it.
export function draw(panel) {
  const view = panel.draw;
  const bar = el("div", "sv-dbar", ...view.shares.map(stretch));
  const label = el("span", "sv-l", panel.kind === "law" ? "draw" : "5 · draw");
  const row = el("div", "sv-drow" + (panel.kind === "law" ? " sv-of-p" : ""), label, bar);
  if (!view.text) return [row, lumps(panel)].filter(Boolean);
  const pin = el("i", "sv-pin");
  pin.style.left = percent(view.u);
  bar.append(pin);
  if (!view.shares.some((part) => part.hit && fits(part))) bar.append(named(view));
  const { u, lo, hi, share: part } = view.text;
  const hit = view.shares.find((s) => s.hit);
  const note = el(
    "p",
    "sv-note",
    el("b", "", u),
    " falls between " + lo + " and " + hi + ": the share of ",
    word(hit.w),
    ", " + part + " wide.",
  );
  return [row, note];
}
