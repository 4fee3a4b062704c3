// p, q and residual side by side, a row a token.

import { el, mark, word } from "../shared/dom.js";
import { now } from "./now.js";
import { frameAt, stepsOf } from "./reel.js";

const HEADS = [["p"], ["q"], ["p and q", "p, q"], ["p − q"], ["above 0", "> 0"]];

// As many digits as any table of this round shows, so that its columns stay where they are.
function digitsOf(view) {
  if (!view.full) return view.digits;
  const steps = Array.from(
    { length: stepsOf(now.at.round) },
    (_, step) => frameAt(now.at.round, step).panel.table,
  );
  return Math.max(view.digits, ...steps.map((each) => (each?.full ? each.digits : 0)));
}

export function table(view) {
  const left = view.total.left;
  const digits = digitsOf(view);
  const heads = view.full
    ? [...HEADS, ["÷ " + left, "÷ " + Number(left).toFixed(2)]]
    : HEADS.slice(0, 3);
  const made = el("div", "sv-mx" + (view.full ? "" : " sv-short") + (digits > 2 ? " sv-fine" : ""));
  made.setAttribute("role", "table");
  made.setAttribute("aria-label", "p, q and residual by token");
  made.style.setProperty("--d", digits);
  const head = el(
    "div",
    "sv-mh",
    cell("sv-tk", el("span", "sv-unseen", "token"), "columnheader"),
    ...heads.map(tableHead),
  );
  head.setAttribute("role", "row");
  const unit =
    0.4 / Math.max(...view.rows.flatMap((row) => [row.m[0], row.m[1], row.soft || 0]), 0.01);
  const most = Math.max(...view.rows.map((row) => row.m[3]), 0.01);
  const rows = view.rows.map((row) => tableRow(row, view.full, unit, 0.36 / most));
  made.append(head, ...rows, totals(view));
  return [made];
}

// The columns after p and q are steps of one calculation, so they are numbered.
function tableHead([text, short], index) {
  const step = index < 2 ? null : el("span", "sv-num", index - 1 + " · ");
  const said = short ? [el("span", "sv-wide", text), el("span", "sv-narrow", short)] : [text];
  return cell("", [step, ...said].filter(Boolean), "columnheader");
}

function cell(name, content, role) {
  const made = el("div", name, ...(Array.isArray(content) ? content : [content]));
  made.setAttribute("role", role || "cell");
  return made;
}

function tableRow(row, full, unit, last) {
  const [p, q, above, scaled] = row.m;
  const both = row.rest ? Math.min(p, p - above) : Math.min(p, q);
  const is = row.is === "trial" ? "rejected" : row.is === "drawn" ? "recovered" : "";
  const name = row.rest ? row.rest.toLocaleString("en") + " others" : "";
  const label = row.rest ? [name] : [full && is ? mark(is) : null, word(row.w)].filter(Boolean);
  const made = el(
    "div",
    "sv-mr" + (row.is ? " sv-on-" + row.is : "") + (row.rest ? " sv-rest" : ""),
  );
  made.setAttribute("role", "row");
  made.append(cell("sv-tk", label), cell("sv-pv", row.t[0]), cell("sv-qv", row.t[1]));
  const upper = el("div", "sv-ln", share("p", both, unit), share(full ? "r" : "p", above, unit));
  const lower = el(
    "div",
    "sv-ln",
    share("q", both, unit),
    share("over", Math.max(q - both, 0), unit),
  );
  const soft = row.soft === undefined ? null : share("soft", row.soft, unit);
  made.append(cell("sv-pq", [upper, lower, soft].filter(Boolean)));
  if (!full) return made;
  made.append(apart(row, unit), grown(row.t[3], above, unit / 2), grown(row.t[4], scaled, last));
  return made;
}

function share(name, mass, unit) {
  const made = el("i", "sv-f sv-f-" + name);
  made.style.width = "calc(var(--u) * " + (mass * unit).toFixed(4) + ")";
  return made;
}

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

function grown(text, mass, unit) {
  const number = el("b", mass > 0 ? "sv-ink-residual" : "sv-nil", text);
  return cell("sv-cl", mass > 0 ? [share("r", mass, unit), number] : [number]);
}

function totals(view) {
  const total = view.total;
  const made = el("div", "sv-ms");
  made.setAttribute("role", "row");
  const both = el("span", "", "both ", el("b", "sv-ink-both", total.both));
  made.append(
    cell("sv-tk", "total"),
    cell("sv-pv", total.p),
    cell("sv-qv", total.q),
    cell("", [both]),
  );
  if (view.full) {
    made.append(
      cell("sv-dv", "0"),
      cell("sv-ink-residual", total.left),
      cell("sv-ink-residual", total.scaled),
    );
  }
  return made;
}
