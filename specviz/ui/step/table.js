// p, q and residual side by side, a row a token.

import { el, flat, mark, termed, word } from "../shared/dom.js";
import { link } from "./hover_links.js";
import { now } from "./now.js";
import { frameAt, stepsOf } from "./reel.js";
import { toSandbox } from "./sandbox.js";
import { $ } from "./stage.js";

/** @import { Child } from "../shared/data.js" */
/** @import { Head, Table, TableRow } from "./data.js" */

// Without q there is no column of it, nor of what p has above it.
/** @param {Table} view */
const hasQ = (view) => view.heads.some((head) => head.of === "q");

// p and q (or p's bars alone) are given; the columns after them are steps of one calculation.
export const GIVEN = 2;

// As many digits as any table of this round shows, so that its columns stay where they are.
/** @param {Table} view */
function digitsOf(view) {
  if (!view.full) return view.digits;
  const steps = Array.from(
    { length: stepsOf(now.at.round) },
    (_, step) => frameAt(now.at.round, step).panel.table,
  );
  return Math.max(view.digits, ...steps.map((each) => (each?.full ? each.digits : 0)));
}

/** @param {Table} view */
export function table(view) {
  const digits = digitsOf(view);
  const kinds = [view.full ? "" : "sv-short", digits > 2 ? "sv-fine" : ""];
  kinds.push(hasQ(view) ? "" : "sv-alone");
  kinds.push(...view.heads.map((head) => (head.left ? "sv-rows-left-" + head.of : "")));
  const made = el("div", ["sv-mx", ...kinds.filter(Boolean)].join(" "));
  made.setAttribute("role", "table");
  made.setAttribute("aria-label", (hasQ(view) ? "p, q" : "p") + " and residual by token");
  made.style.setProperty("--d", String(digits));
  const head = el(
    "div",
    "sv-mh",
    cell("sv-tk", [el("span", "sv-unseen", "token"), toSandbox(view)], "columnheader"),
    ...view.heads.map((each, index) => tableHead(each, index, view)),
  );
  head.setAttribute("role", "row");
  const unit =
    0.4 / Math.max(...view.rows.flatMap((row) => [row.m[0], row.m[1], row.soft || 0]), 0.01);
  const most = Math.max(...view.rows.map((row) => row.m[3]), 0.01);
  const rows = view.rows.map((row) => tableRow(row, view, unit, 0.36 / most));
  made.append(head, ...rows, totals(view));
  return [made];
}

// Long numbers leave no room for the bars of p and q on a narrow page (40-narrow.css); the columns
// that are shown are numbered from 1.
/** @param {number} index @param {Table} view */
export function numberOf(index, view) {
  const narrow = $(".sv").matches(".sv-slim, .sv-tight");
  const dropped = narrow && view.full && hasQ(view) && digitsOf(view) > 2;
  return index - GIVEN + (dropped ? 0 : 1);
}

/** @param {Head} head @param {number} index @param {Table} view */
function tableHead(head, index, view) {
  const number = numberOf(index, view);
  const step = index < GIVEN ? null : el("span", "sv-num", number + " · ");
  const short = head.in;
  const said = short ? [el("span", "sv-wide", head.t), el("span", "sv-narrow", short)] : [head.t];
  const made = cell(head.of ? "sv-h-" + head.of : "", [step, ...said], "columnheader");
  return head.term ? termed(made, head.term) : made;
}

/** @param {string} name @param {Child | Child[]} content @param {string} [role] */
function cell(name, content, role) {
  const made = el("div", name, ...(Array.isArray(content) ? content : [content]));
  made.setAttribute("role", role || "cell");
  return made;
}

// How many tokens have no row; a large vocabulary's in thousands, since its column is narrow.
/** @param {number} many */
export const others = (many) =>
  (many < 10000 ? many.toLocaleString("en") : Math.round(many / 1000) + " k") + " others";

/** @param {TableRow} row @param {Table} view @param {number} unit @param {number} last */
function tableRow(row, view, unit, last) {
  const { full } = view;
  const [, , above, scaled] = row.m;
  const is = row.is === "trial" ? "rejected" : row.is === "drawn" ? "recovered" : "";
  const label = row.w ? [full && is ? mark(is) : null, word(row.w)] : [others(row.rest)];
  const made = el(
    "div",
    "sv-mr" + (row.is ? " sv-on-" + row.is : "") + (row.rest ? " sv-rest" : ""),
  );
  if (row.w) link(made, "word " + flat(row.w));
  made.setAttribute("role", "row");
  made.append(cell("sv-tk", label), cell("sv-pv", row.t[0]));
  if (hasQ(view)) made.append(cell("sv-qv", row.t[1]));
  made.append(cell("sv-pq", twoBars(row, view, unit)));
  if (!full) return made;
  if (hasQ(view)) made.append(apart(row, unit));
  made.append(grown(row.t[3], above, unit / 2), grown(row.t[4], scaled, last));
  return made;
}

// p over q; where p alone counts, p.
/** @param {TableRow} row @param {Table} view @param {number} unit */
function twoBars(row, view, unit) {
  const [p, q, above] = row.m;
  const both = row.rest || !hasQ(view) ? Math.max(p - above, 0) : Math.min(p, q);
  const more = share(view.full ? "r" : "p", above, unit);
  /** @type {HTMLElement[]} */
  const bars = [el("div", "sv-ln", share("p", both, unit), more)];
  const over = share("over", Math.max(q - both, 0), unit);
  if (hasQ(view)) bars.push(el("div", "sv-ln", share("q", both, unit), over));
  if (row.soft !== undefined) bars.push(share("soft", row.soft, unit));
  return bars;
}

/** @param {string} name @param {number} mass @param {number} unit */
function share(name, mass, unit) {
  const made = el("i", "sv-f sv-f-" + name);
  made.style.width = "calc(var(--u) * " + (mass * unit).toFixed(4) + ")";
  return made;
}

/** @param {TableRow} row @param {number} unit */
function apart(row, unit) {
  const [p, q, above] = row.m;
  const under = row.rest ? Math.max(q - (p - above), 0) : Math.max(q - p, 0);
  const half = unit / 2;
  const made = cell("sv-dv", [
    el("i", "sv-zero"),
    share("over sv-neg", under, half),
    share("r sv-pos", above, half),
  ]);
  const number = el("b", p < q ? "sv-ink-q" : p > q ? "sv-ink-residual" : "sv-nil", row.t[2]);
  number.style.setProperty("--under", (under * half).toFixed(4));
  made.append(number);
  return made;
}

/** @param {string} text @param {number} mass @param {number} unit */
function grown(text, mass, unit) {
  const number = el("b", mass > 0 ? "sv-ink-residual" : "sv-nil", text);
  return cell("sv-cl", mass > 0 ? [share("r", mass, unit), number] : [number]);
}

/** @param {Table} view */
function totals(view) {
  const total = view.total;
  const made = el("div", "sv-ms");
  made.setAttribute("role", "row");
  const both = el("span", "", "both ", el("b", "sv-ink-both", total.both));
  made.append(cell("sv-tk", "total"), cell("sv-pv", total.p));
  if (hasQ(view)) made.append(cell("sv-qv", total.q), cell("", [both]));
  else made.append(cell("", []));
  if (view.full) {
    if (hasQ(view)) made.append(cell("sv-dv", total.apart ?? "0"));
    const left = link(cell("sv-ink-residual", total.left), "residual");
    made.append(left, cell("sv-ink-residual", total.scaled));
  }
  return made;
}
