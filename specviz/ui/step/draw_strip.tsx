// The sampling of a token: the distribution as a strip in descending order of probability, with u
// on it.

import { flat, percent } from "../shared/dom";
import { required } from "../shared/required";
import { classes, termAttributes, Token } from "../shared/view";
import { linkAttributes } from "./hover_links";
import { nextNumber } from "./residual_table";
import { widthOf } from "./room";

import type { Draw, Share } from "../../frames/draw.py";
import type { Panel } from "../../frames/inspector.py";
import type { Table } from "../../frames/table.py";

export function DrawStrip(panel: Panel, view: Draw) {
  const number = nextNumber(panel.table);
  const named = view.shares.some((share) => share.hit && fits(share));
  const strip = (
    <div class="sv-dbar">
      {view.shares.map(Stretch)}
      {view.text ? (
        <i
          class="sv-pin"
          style={{ left: percent(required(view.u)) }}
          {...linkAttributes("u")}
          {...termAttributes("new coin")}
        />
      ) : null}
      {view.text && !named ? NameBesidePin(view) : null}
    </div>
  );
  const label = (
    <span class="sv-l">{number ? <span class="sv-num">{number + " · "}</span> : null}draw</span>
  );
  return [
    <div class={classes("sv-drow", panel.kind === "draw" && "sv-of-p")}>
      {label}
      {strip}
    </div>,
    view.text ? IntervalNote(view, view.text) : RestNote(panel.table),
  ];
}

// Return whether a share of the strip is wide enough for its name.
function fits(share: Share) {
  const letters = share.rest ? 6 : flat(share.w).length;
  return share.m * (widthOf("panel") - 85) > letters * 7.6 + 6;
}

/** The share of one token, or of all tokens that are not shown. */
function Stretch(share: Share) {
  const name = share.rest ? "others" : flat(share.w);
  return (
    <span
      class={classes("sv-share", share.hit && "sv-hit")}
      style={{ width: percent(share.m) }}
      title={name + " " + share.m.toFixed(4)}
    >
      {fits(share) ? (share.rest ? "others" : Token(share.w)) : null}
    </span>
  );
}

const hitOf = (view: Draw) => required(required(view.shares.find((share) => share.hit)).w);

/** The sampled word, if its share is too narrow for it. */
function NameBesidePin(view: Draw) {
  const u = required(view.u);
  return (
    <b class={classes("sv-name", u > 0.8 && "sv-name-left")} style={{ left: percent(u) }}>
      {Token(hitOf(view))}
    </b>
  );
}

const IntervalNote = (view: Draw, { u, lo, hi, share }: NonNullable<Draw["text"]>) => (
  <p class="sv-note">
    <b>{u}</b>
    {" is between " + lo + " and " + hi + ", the interval of "}
    <b class="sv-token">{Token(hitOf(view))}</b>
    {" (width " + share + ")."}
  </p>
);

function RestNote(table: Table | undefined) {
  const rest = table?.rows.find((each) => each.rest)?.rest;
  if (!table || !rest) return null;
  const many = rest.toLocaleString("en") + " others: computed one by one, then summed. ";
  return <p class="sv-note">{many + "Rounded to " + table.digits + " decimals."}</p>;
}
