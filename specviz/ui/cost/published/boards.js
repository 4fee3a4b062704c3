// Spec-Bench's tables, and the House models' own numbers next to published ranges.

import { h } from "../../shared/view.js";
import { CardsTable, Lines, Stated } from "./cards_table.js";

/** @import { Column } from "./cards_table.js" */
/** @import { BoardData, BoardRowData, Own, OwnRow } from "./__init__.py" */

/** @param {BoardData} board @param {Record<string, string>} full Methods by their abbreviations. @param {string} here */
export function BoardTable({ device, tasks, rows }, full, here) {
  /** @type {Column<BoardRowData>[]} */
  const columns = [
    ["method", "sv-headline-method", (row) => Lines(h("b", null, row.method), full[row.method])],
    ["overall", "sv-headline-number", (row) => h("b", null, row.overall + " ×")],
    ["tokens per pass", "sv-headline-task", (row) => row.passes],
    ...tasks.map(
      /** @returns {Column<BoardRowData>} */
      (task, at) => [task, "sv-headline-task", (row) => row.speedups[at] + " ×"],
    ),
  ];
  return CardsTable("Spec-Bench on " + device, columns, rows, here);
}

const APART =
  "Do not compare the two: models, prompts and machines differ. A small target such as House needs a very cheap drafter, so most speed-ups are smaller here. ";

/** @param {Own} own @param {boolean} open @param {() => void} toggle */
export function OwnNumbers(own, open, toggle) {
  /** @type {Column<OwnRow>[]} */
  const columns = [
    ["family", "sv-headline-method", (row) => h("b", null, row.method)],
    [
      "published: other models, other hardware",
      "sv-headline-theirs",
      (row) => Stated(row.published),
    ],
    [own.heading, "sv-headline-mine", (row) => Lines(h("b", null, row.speedup || "–"), row.apart)],
    ["ours: tokens per pass", "sv-headline-mine sv-headline-task", (row) => row.passes || "–"],
    ["ours: α", "sv-headline-mine sv-headline-task", (row) => row.alpha || "–"],
  ];
  return [
    h(
      "div",
      { class: "sv-headline-ours-do" },
      h(
        "button",
        {
          type: "button",
          class: "sv-headline-toggle",
          "aria-expanded": String(open),
          "aria-controls": "sv-headline-ours",
          onClick: toggle,
        },
        "Show ours beside them",
      ),
      h("span", null, "The House models of this page, by drafter family."),
    ),
    h(
      "div",
      { class: "sv-headline-ours", id: "sv-headline-ours", hidden: !open },
      h("p", { class: "sv-headline-lead" }, APART + own.how),
      h(
        "p",
        { class: "sv-headline-both" },
        h("span", { class: "sv-headline-badge" }, "published"),
        " left, ",
        h("span", { class: "sv-headline-measured" }, "measured"),
        " right",
      ),
      CardsTable("Published ranges, and those of the House models", columns, own.rows),
    ),
  ];
}
