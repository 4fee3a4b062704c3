// p, q and the residual side by side, one row per token.

import { flat } from "../shared/dom";
import { classes, Mark, termAttributes, Token } from "../shared/view";
import { Fill } from "./bar_rows";
import { linkAttributes } from "./hover_links";
import { frameAt, momentKey, player, stepsOf } from "./state";
import { $ } from "./stage";
import { TryRules } from "./try_rules";

import type { ComponentChild } from "preact";
import type { Head, Table, TableRow } from "../../frames/table.py";
/** How long masses are drawn. */
export type Scale = { view: Table; unit: number; last: number };

// Without q, there are no columns for q and for the part of p above q.
const hasQ = (view: Table) => view.heads.some((head) => head.of === "q");

// p and q (or only p's bars) are given; the columns after them are steps of one calculation.
const GIVEN = 2;

/** Return the highest number of decimals of any table in this round, so that columns do not move. */
function digitsOf(view: Table) {
  if (!view.full) return view.digits;
  const { round } = player.at;
  const steps = Array.from(
    { length: stepsOf(round) },
    (_, step) => frameAt(round, step).panel.table,
  );
  return Math.max(view.digits, ...steps.map((each) => (each?.full ? each.digits : 0)));
}

/** @param leftOut How many rows are left out; "others" contains them. */
export function ResidualTable(whole: Table, leftOut: number = 0) {
  const view = { ...whole, rows: shownRows(whole, leftOut) };
  const digits = digitsOf(view);
  const left = view.heads.map((head) => head.left && "sv-rows-left-" + head.of);
  const sizes = [!view.full && "sv-short", digits > 2 && "sv-fine", !hasQ(view) && "sv-alone"];
  const largest = Math.max(
    ...view.rows.flatMap((row) => [row.m[0], row.m[1], row.soft || 0]),
    0.01,
  );
  const scale = {
    view,
    unit: 0.4 / largest,
    last: 0.36 / Math.max(...view.rows.map((row) => row.m[3]), 0.01),
  };
  return (
    <div
      class={classes("sv-mx", ...sizes, ...left)}
      role="table"
      aria-label={(hasQ(view) ? "p, q" : "p") + " and residual by token"}
      style={{ "--d": String(digits) }}
    >
      {Heads(view)}
      {view.rows.map((row) => Row(row, scale))}
      {Totals(view)}
    </div>
  );
}

function shownRows({ rows, folds }: Table, leftOut: number): TableRow[] {
  if (leftOut === 0) return rows;
  const folded = folds.slice(0, leftOut);
  const hidden = new Set(folded.map(({ at }) => at));
  const shown = rows.filter((row, at) => row.w && !hidden.has(at));
  return [...shown, folded[folded.length - 1].rest];
}

// If numbers are long, a narrow page has no space for the bars of p and q (40-narrow.css); columns
// are numbered from 1 as shown.
function numberOf(index: number, view: Table) {
  const narrow = $(".sv").matches(".sv-slim, .sv-tight");
  const dropped = narrow && view.full && hasQ(view) && digitsOf(view) > 2;
  return index - GIVEN + (dropped ? 0 : 1);
}

/** Return the number for the next step of the calculation; 0 if the columns are not a calculation. */
export const nextNumber = (view: Table | undefined) =>
  view?.full ? numberOf(view.heads.length, view) : 0;

function Heads(view: Table) {
  const token = <span class="sv-unseen">token</span>;
  return (
    <div class="sv-mh" role="row">
      <div class="sv-tk" role="columnheader">
        {token}
        {TryRules(view)}
      </div>
      {view.heads.map((head, index) => ColumnHead(head, index, view))}
    </div>
  );
}

function ColumnHead(head: Head, index: number, view: Table) {
  const number = index < GIVEN || !view.full ? null : numberOf(index, view) + " · ";
  return (
    <div class={head.of && "sv-h-" + head.of} role="columnheader" {...termAttributes(head.term)}>
      {number && <span class="sv-num">{number}</span>}
      {head.in
        ? [<span class="sv-wide">{head.t}</span>, <span class="sv-narrow">{head.in}</span>]
        : head.t}
    </div>
  );
}

const Cell = (name: string, ...content: ComponentChild[]) => (
  <div class={name || undefined} role="cell">
    {content}
  </div>
);

/**
 * Return how many tokens have no row, in thousands for a large vocabulary, since the column is
 * narrow.
 */
export const others = (many: number) =>
  (many < 10000 ? many.toLocaleString("en") : Math.round(many / 1000) + " k") + " others";

const MARKED: Partial<Record<string, string>> = { trial: "rejected", drawn: "recovered" };

function Row(row: TableRow, scale: Scale) {
  const { view, unit, last } = scale;
  const [, , above, scaled] = row.m;
  const mark = view.full && row.is ? Mark(MARKED[row.is] || "") : null;
  const name = row.w ? flat(row.w) : "";
  return (
    <div
      key={
        momentKey() + " " + name
      } /* made anew: a row that takes another place would be a shift */
      class={classes("sv-mr", row.is && "sv-on-" + row.is, row.rest ? "sv-rest" : "")}
      role="row"
      {...(row.w ? linkAttributes("word " + name) : {})}
    >
      {row.w ? Cell("sv-tk", mark, Token(row.w)) : Cell("sv-tk", others(row.rest))}
      {Cell("sv-pv", row.t[0])}
      {hasQ(view) ? Cell("sv-qv", row.t[1]) : null}
      {Cell("sv-pq", TwoBars(row, scale))}
      {view.full && hasQ(view) ? Difference(row, unit) : null}
      {view.full ? [Remainder(row.t[3], above, unit / 2), Remainder(row.t[4], scaled, last)] : null}
    </div>
  );
}

/** The bar of p above that of q; only p if there is no q. */
function TwoBars(row: TableRow, { view, unit }: Scale) {
  const [p, q, above] = row.m;
  const both = row.rest || !hasQ(view) ? Math.max(p - above, 0) : Math.min(p, q);
  const over = Math.max(q - both, 0);
  return [
    <div class="sv-ln">
      {Bar("p", both, unit)}
      {Bar(view.full ? "r" : "p", above, unit)}
    </div>,
    hasQ(view) ? (
      <div class="sv-ln">
        {Bar("q", both, unit)}
        {Bar("over", over, unit)}
      </div>
    ) : null,
    row.soft === undefined ? null : Bar("soft", row.soft, unit),
  ];
}

const Bar = (name: string, mass: number, unit: number) =>
  Fill(name, "calc(var(--u) * " + (mass * unit).toFixed(4) + ")");

/** A bar of p − q, to the left or right of a line. */
function Difference(row: TableRow, unit: number) {
  const [p, q, above] = row.m;
  const under = row.rest ? Math.max(q - (p - above), 0) : Math.max(q - p, 0);
  const half = unit / 2;
  const ink = p < q ? "sv-ink-q" : p > q ? "sv-ink-residual" : "sv-nil";
  return Cell(
    "sv-dv",
    <i class="sv-zero" />,
    Bar("over sv-neg", under, half),
    Bar("r sv-pos", above, half),
    <b class={ink} style={{ "--under": (under * half).toFixed(4) }}>
      {row.t[2]}
    </b>,
  );
}

const Remainder = (text: string, mass: number, unit: number) =>
  Cell(
    "sv-cl",
    mass > 0 ? Bar("r", mass, unit) : null,
    <b class={mass > 0 ? "sv-ink-residual" : "sv-nil"}>{text}</b>,
  );

function Totals(view: Table) {
  const { total } = view;
  const both = (
    <span class="sv-ms-both">
      {"both "}
      <b class="sv-ink-both">{total.both}</b>
    </span>
  );
  return (
    <div class="sv-ms" role="row">
      {Cell("sv-tk", "total")}
      {Cell("sv-pv", total.p)}
      {hasQ(view) ? [Cell("sv-qv", total.q), Cell("", both)] : Cell("")}
      {view.full && hasQ(view) ? Cell("sv-dv", total.apart ?? "0") : null}
      {view.full
        ? [
            <div class="sv-ink-residual" role="cell" {...linkAttributes("residual")}>
              {total.left}
            </div>,
            Cell("sv-ink-residual", total.scaled),
          ]
        : null}
    </div>
  );
}
