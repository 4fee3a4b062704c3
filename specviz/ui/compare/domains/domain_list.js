// One domain on a narrow screen: drafters from best to worst, each with a bar. Speed-ups have a
// logarithmic axis, so that half and twice the speed are at the same distance from plain decoding.

import { h } from "../../shared/view.js";
import { Bodies, CellContent, cellAttributes } from "./domain_table.js";
import { cellOf, listedColumn, numberIn, shown, view } from "./shown.js";

/** @import { Row } from "../../../compare/domains/heatmap.py" */

/** @typedef {{ at: (value: number) => number, from: number, ticks: [value: number, title: string][] }} Axis */

const POWERS = [0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32];
const STEPS = [1, 2, 5, 10, 20];

/** Return the axis of all columns; it is shared, so that bars can be compared. @returns {Axis} */
function axis() {
  const { rows, columns } = view();
  const values = rows.flatMap((row) => columns.map((column) => numberIn(cellOf(row, column))));
  const known = values.filter((value) => value > 0);
  const most = Math.max(...known, shown.measure === "speedup" ? 2 : 1);
  if (shown.measure === "accepted") {
    const step = STEPS.find((one) => most / one <= 5) ?? 50;
    const ticks = Array.from({ length: Math.floor(most / step) + 1 }, (_, n) => n * step);
    return { at: (value) => value / most, from: 0, ticks: ticks.map((n) => [n, String(n)]) };
  }
  const least = Math.min(...known, 0.5);
  /** @param {number} value */
  const at = (value) => Math.log(value / least) / Math.log(most / least);
  const ticks = POWERS.filter((power) => power >= least && power <= most);
  return { at, from: at(1), ticks: ticks.map((power) => [power, power + " ×"]) };
}

/** @param {number} share */
const percent = (share) => (100 * share).toFixed(2) + "%";

/** @param {number} value @param {Axis} axis */
function Bar(value, { at, from }) {
  if (!(value > 0)) return null;
  const [left, right] = [from, at(value)].sort((a, b) => a - b);
  return h("i", {
    class: "sv-domains-bar-of",
    style: { left: percent(left), width: percent(Math.max(right - left, 0.004)) },
  });
}

/** @param {Axis} axis */
const Ticks = ({ at, ticks }) =>
  ticks.map(([value, title]) =>
    h("span", { key: value, style: { left: percent(at(value)) } }, title),
  );

/** @param {Row[]} rows @param {string} references */
export function DomainList(rows, references) {
  const column = listedColumn();
  const place = view().columns.indexOf(column);
  const scale = axis();
  return [
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        h("th", { scope: "col" }, h("span", null, "Drafter")),
        h(
          "th",
          { scope: "col" },
          h("span", { class: "sv-domains-spoken" }, column.title),
          h("span", { class: "sv-domains-ticks", "aria-hidden": "true" }, Ticks(scale)),
        ),
      ),
    ),
    Bodies(rows, references, 2, (row, at) =>
      h(
        "tr",
        { key: row.name },
        h("th", { scope: "row" }, row.title),
        h(
          "td",
          cellAttributes(row, column, at, place),
          h(
            "span",
            { class: "sv-domains-track", style: { "--one": percent(scale.from) } },
            Bar(numberIn(cellOf(row, column)), scale),
          ),
          h("span", { class: "sv-domains-value" }, CellContent(row, column)),
        ),
      ),
    ),
  ];
}

/** Buttons for the domains. @param {(column: string) => void} choose */
export const DomainChoice = (choose) =>
  view().columns.map(({ name, title }) =>
    h(
      "button",
      {
        key: name,
        type: "button",
        "aria-pressed": String(name === listedColumn().name),
        onClick: () => choose(name),
      },
      title,
    ),
  );
