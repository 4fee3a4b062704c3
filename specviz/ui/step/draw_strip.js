// The sampling of a token: the distribution as a strip in descending order of probability, with u
// on it.

import { flat, percent } from "../shared/dom.js";
import { there } from "../shared/there.js";
import { classes, h, termAttributes, Token } from "../shared/view.js";
import { linkAttributes } from "./hover_links.js";
import { nextNumber } from "./residual_table.js";
import { widthOf } from "./room.js";

/** @import { Draw, Share } from "../../frames/draw.py" */
/** @import { Panel } from "../../frames/inspector.py" */
/** @import { Table } from "../../frames/table.py" */

/** @param {Panel} panel @param {Draw} view */
export function DrawStrip(panel, view) {
  const number = nextNumber(panel.table);
  const named = view.shares.some((share) => share.hit && fits(share));
  const strip = h(
    "div",
    { class: "sv-dbar" },
    view.shares.map(Stretch),
    view.text
      ? h("i", {
          class: "sv-pin",
          style: { left: percent(there(view.u)) },
          ...linkAttributes("u"),
          ...termAttributes("new coin"),
        })
      : null,
    view.text && !named ? NameBesidePin(view) : null,
  );
  const label = h(
    "span",
    { class: "sv-l" },
    number ? h("span", { class: "sv-num" }, number + " · ") : null,
    "draw",
  );
  return [
    h("div", { class: classes("sv-drow", panel.kind === "law" && "sv-of-p") }, label, strip),
    view.text ? IntervalNote(view, view.text) : RestNote(panel.table),
  ];
}

// Return whether a share of the strip is wide enough for its name.
/** @param {Share} share */
function fits(share) {
  const letters = share.rest ? 6 : flat(share.w).length;
  return share.m * (widthOf("panel") - 85) > letters * 7.6 + 6;
}

/** The share of one token, or of all tokens that are not shown. @param {Share} share */
function Stretch(share) {
  const name = share.rest ? "others" : flat(share.w);
  return h(
    "span",
    {
      class: classes("sv-share", share.hit && "sv-hit"),
      style: { width: percent(share.m) },
      title: name + " " + share.m.toFixed(4),
    },
    fits(share) ? (share.rest ? "others" : Token(share.w)) : null,
  );
}

/** @param {Draw} view */
const hitOf = (view) => there(there(view.shares.find((share) => share.hit)).w);

/** The sampled word, if its share is too narrow for it. @param {Draw} view */
function NameBesidePin(view) {
  const u = there(view.u);
  return h(
    "b",
    { class: classes("sv-name", u > 0.8 && "sv-name-left"), style: { left: percent(u) } },
    Token(hitOf(view)),
  );
}

/** @param {Draw} view @param {NonNullable<Draw["text"]>} text */
const IntervalNote = (view, { u, lo, hi, share }) =>
  h(
    "p",
    { class: "sv-note" },
    h("b", null, u),
    " is between " + lo + " and " + hi + ", the interval of ",
    h("b", { class: "sv-token" }, Token(hitOf(view))),
    " (width " + share + ").",
  );

/** @param {Table | undefined} table */
function RestNote(table) {
  const rest = table?.rows.find((each) => each.rest)?.rest;
  if (!table || !rest) return null;
  const many = rest.toLocaleString("en") + " others: computed one by one, then summed. ";
  return h("p", { class: "sv-note" }, many + "Rounded to " + table.digits + " decimals.");
}
