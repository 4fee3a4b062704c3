// The draw, and the note under a table.

import { el, flat, percent, word } from "../shared/dom.js";
import { there } from "../shared/there.js";
import { link } from "./hover_links.js";
import { widthOf } from "./room.js";
import { GIVEN, numberOf } from "./table.js";

/** @import { Draw, Panel, Share } from "./data.js" */

/** @param {Panel} panel */
function lumps(panel) {
  const rest = panel.table?.rows.find((each) => each.rest)?.rest;
  if (!panel.table || !rest) return null;
  const many = rest.toLocaleString("en") + " others: computed one by one, then summed. ";
  return el("p", "sv-note", many + "Rounded to " + panel.table.digits + " decimals.");
}

// Whether a share of the strip is as wide as its name.
/** @param {Share} part */
function fits(part) {
  const letters = part.rest ? 6 : flat(part.w).length;
  return part.m * (widthOf("panel") - 85) > letters * 7.6 + 6;
}

// One token's stretch of the strip, or that of all that are not shown.
/** @param {Share} part */
function stretch(part) {
  const name = !fits(part) ? "" : part.rest ? "others" : word(part.w);
  const made = el("span", "sv-share" + (part.hit ? " sv-hit" : ""), name);
  made.style.width = percent(part.m);
  made.title = (part.rest ? "others" : flat(part.w)) + " " + part.m.toFixed(4);
  return made;
}

// Where its share is too narrow for the word that was drawn: beside the pin.
/** @param {Draw} view */
function named(view) {
  const u = there(view.u);
  const hit = there(view.shares.find((part) => part.hit));
  const made = el("b", "sv-name", word(there(hit.w)));
  if (u > 0.8) made.classList.add("sv-name-left");
  made.style.left = percent(u);
  return made;
}

// The distribution as a strip by falling probability, and where the coin is on it.
/** @param {Panel} panel @param {Draw} view */
export function draw(panel, view) {
  const bar = el("div", "sv-dbar", ...view.shares.map(stretch));
  const { table } = panel;
  const last = table && table.heads.length > GIVEN ? numberOf(table.heads.length, table) : 0;
  const label = el("span", "sv-l", last ? el("span", "sv-num", last + " · ") : null, "draw");
  const row = el("div", "sv-drow" + (panel.kind === "law" ? " sv-of-p" : ""), label, bar);
  if (!view.text) return [row, lumps(panel)].filter((each) => each !== null);
  const pin = link(el("i", "sv-pin"), "u");
  pin.style.left = percent(there(view.u));
  bar.append(pin);
  if (!view.shares.some((part) => part.hit && fits(part))) bar.append(named(view));
  const { u, lo, hi, share: part } = view.text;
  const hit = there(view.shares.find((s) => s.hit));
  const note = el(
    "p",
    "sv-note",
    el("b", "", u),
    " is between " + lo + " and " + hi + ", the interval of ",
    el("b", "sv-token", word(there(hit.w))),
    " (width " + part + ").",
  );
  return [row, note];
}
