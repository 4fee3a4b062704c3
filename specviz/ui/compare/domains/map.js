// The heat map: one table of buttons and cells. Numbers, shades and sentences come from the server.

import { el, meaning } from "../../shared/dom.js";
import { there } from "../../shared/there.js";
import { cellOf, rowsInOrder, shown, view } from "./shown.js";
import { $, stage } from "./stage.js";
import { hideTip } from "./tip.js";

/** @import { Column, Measure, Place, Row, View } from "./data.js" */

/** @type {Record<Measure, { title: string, scale: string }>} */
const MEASURES = {
  speedup: { title: "Speed-up", scale: "plain decoding" },
  accepted: { title: "Accepted length", scale: "accepted per round" },
};
/** @type {Measure[]} */
const MEASURED = ["speedup", "accepted"];
/** @param {string | null} column */
function sortBy(column) {
  if (column === null) shown.sorted = { column: null, down: true };
  else shown.sorted = { column, down: shown.sorted.column === column ? !shown.sorted.down : true };
  shown.here = { row: 0, column: 0 };
  paint();
}

/** @param {string} title @param {string | null} column */
function head(title, column) {
  const on = shown.sorted.column === column;
  const arrow = el(
    "span",
    "sv-domains-arrow",
    on && column !== null ? (shown.sorted.down ? "↓" : "↑") : "",
  );
  arrow.setAttribute("aria-hidden", "true");
  const button = el("button", "", column === null ? null : arrow, title);
  button.type = "button";
  button.dataset.column = column === null ? "" : column;
  button.addEventListener("click", () => {
    sortBy(column);
    const again = stage.all(".sv-domains-map th button");
    there(again.find((one) => one.dataset.column === (column === null ? "" : column))).focus();
  });
  const made = el("th", "", button);
  made.scope = "col";
  if (column !== null)
    made.setAttribute("aria-sort", on ? (shown.sorted.down ? "descending" : "ascending") : "none");
  return made;
}

/** @param {Row} row @param {Column} column @param {Place} at */
function cell(row, column, at) {
  const data = cellOf(row, column);
  const made = el("td", column.name === "mean" ? "sv-domains-mean" : "");
  made.tabIndex = at.row === shown.here.row && at.column === shown.here.column ? 0 : -1;
  made.dataset.row = String(at.row);
  made.dataset.column = String(at.column);
  if (!data) {
    made.append(
      el("span", "sv-domains-none", "–"),
      el("span", "sv-domains-spoken", " not measured"),
    );
    return made;
  }
  const [text, shade, marks] = data[shown.measure];
  made.style.setProperty("--shade", String(shade));
  if (marks.includes("slower")) {
    made.classList.add("sv-domains-slower");
    made.append(el("span", "sv-domains-mark", "▼"), el("span", "sv-domains-spoken", "slower: "));
  }
  if (marks.includes("best")) {
    made.classList.add("sv-domains-best");
    made.append(el("span", "sv-domains-mark", "best"));
  }
  made.append(el("span", "sv-domains-number", text));
  if (data.part) made.append(el("span", "sv-domains-part", data.part));
  return made;
}

/** @param {Row[]} rows @param {number} from */
function body(rows, from) {
  const made = el("tbody");
  rows.forEach((row, i) => {
    const title = el("th", "", row.title);
    title.scope = "row";
    made.append(
      el(
        "tr",
        "",
        title,
        ...view().columns.map((column, j) => cell(row, column, { row: from + i, column: j })),
      ),
    );
  });
  return made;
}

function showMap() {
  const rows = rowsInOrder();
  const usual = rows.filter((row) => !row.bound),
    bounds = rows.filter((row) => row.bound);
  const top = el(
    "thead",
    "",
    el("tr", "", head("Drafter", null), ...view().columns.map((c) => head(c.title, c.name))),
  );
  const caption = el(
    "caption",
    "sv-domains-spoken",
    MEASURES[shown.measure].title + " by drafter and domain",
  );
  const parts = [caption, top, body(usual, 0)];
  if (bounds.length) {
    const words = el("th", "sv-domains-between", el("span", "", stage.config.references));
    words.colSpan = view().columns.length + 1;
    words.scope = "rowgroup";
    const last = body(bounds, usual.length);
    last.prepend(el("tr", "", words));
    parts.push(last);
  }
  const box = $(".sv-domains-box");
  const [left, top_] = [box.scrollLeft, box.scrollTop];
  $(".sv-domains-map").replaceChildren(...parts);
  box.scrollLeft = left;
  box.scrollTop = top_;
}

function showLegend() {
  const [low, high] = view().ends[shown.measure];
  const scale = el("span", "sv-domains-scale");
  scale.setAttribute("aria-hidden", "true");
  const parts = [
    el("span", "", low),
    scale,
    el("span", "", high + " " + MEASURES[shown.measure].scale),
  ];
  const said = [el("span", "sv-domains-key", el("b", "", "best"), " in its column")];
  if (shown.measure === "speedup")
    said.push(el("span", "sv-domains-key", "▼ slower than plain decoding"));
  $(".sv-domains-legend").replaceChildren(el("span", "sv-domains-key", ...parts), ...said);
}

/** @param {string} title @param {boolean} on @param {() => void} take */
function choice(title, on, take) {
  const made = el("button", "", title);
  made.type = "button";
  made.setAttribute("aria-pressed", String(on));
  made.addEventListener("click", () => {
    const group = there(made.parentElement),
      place = [...group.children].indexOf(made);
    take();
    paint();
    group.querySelectorAll("button")[place].focus();
  });
  return made;
}

function showSwitches() {
  const [which, what] = stage.all(".sv-domains-switch");
  /** @param {View} one */
  const title = (one) => (one.live ? "Live" : "Recorded, temperature " + one.temperature);
  which.replaceChildren(
    ...shown.views.map((one, i) =>
      choice(title(one), i === shown.at, () => {
        shown.at = i;
        hideTip();
      }),
    ),
  );
  what.replaceChildren(
    ...MEASURED.map((name) =>
      choice(MEASURES[name].title, name === shown.measure, () => {
        shown.measure = name;
        hideTip();
      }),
    ),
  );
}

export function paint() {
  $(".sv-domains-shown").hidden = !shown.views.length;
  if (!shown.views.length) return;
  const badge = $(".sv-domains-badge");
  badge.textContent = view().badge;
  badge.title = meaning(view().live ? "live" : "recorded");
  badge.classList.toggle("sv-domains-hot", Boolean(view().live));
  $(".sv-domains-where").textContent = view().where;
  $(".sv-domains-headline").textContent = view().headline;
  $(".sv-domains-detail").textContent = view().detail;
  $(".sv-domains-caution").textContent = view().caution;
  $(".sv-domains-caution").hidden = !view().caution;
  $(".sv-domains-note").textContent = stage.config.notes[shown.measure];
  showSwitches();
  showLegend();
  showMap();
}
