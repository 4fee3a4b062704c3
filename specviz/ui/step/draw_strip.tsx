// The sampling of a token: the distribution as a strip in descending order of probability, with u
// on it, and what its numbers say.

import { required } from "../shared/required";
import { Token } from "../shared/view";
import { DrawCoin } from "./coin";
import { nextNumber } from "./residual_table";

import type { ComponentChild } from "preact";
import type { Draw } from "../../frames/draw.py";
import type { Panel } from "../../frames/inspector.py";
import type { Table } from "../../frames/table.py";

export function DrawStrip(panel: Panel, view: Draw) {
  const table = "table" in panel ? panel.table : undefined;
  const number = nextNumber(table);
  const title = [number ? <span class="sv-num">{number + " · "}</span> : null, "draw"];
  const note = view.text ? IntervalNote(view, view.text) : RestNote(table);
  return DrawCoin(view, title, panel.kind === "draw" ? "p" : "r", note);
}

function IntervalNote({ shares }: Draw, { u, lo, hi, share }: NonNullable<Draw["text"]>) {
  const hit = required(shares.find((each) => each.hit)?.w);
  const between = " is between " + lo + " and " + hi + ", the interval of ";
  return [<b>{u}</b>, between, <b>{Token(hit)}</b>, " (width " + share + ")."];
}

function RestNote(table: Table | undefined): ComponentChild {
  const rest = table?.rows.find((each) => each.rest)?.rest;
  if (!table || !rest) return null;
  const many = rest.toLocaleString("en") + " others: computed one by one, then summed. ";
  return many + "Rounded to " + table.digits + " decimals.";
}
