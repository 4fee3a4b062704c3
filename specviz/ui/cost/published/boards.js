// Spec-Bench's tables, and the House models' own numbers in a separate table.

import { el } from "../../shared/dom.js";
import { $, stage } from "./stage.js";
import { cited, lines, options, saying, tabled } from "./table.js";

/** @import { BoardRow, Column, Option, OwnRow } from "./data.js" */

/** @type {Column<OwnRow>[]} */
const OWN = [
  ["family", "sv-headline-method", (row) => el("b", "", row.method)],
  ["published: other models, other hardware", "sv-headline-theirs", (row) => saying(row.published)],
];

export function board() {
  /** @type {HTMLSelectElement} */
  const device = $(".sv-headline-device");
  const which = stage.config.boards[Number(device.value) || 0];
  if (!which) return;
  /** @type {Column<BoardRow>[]} */
  const tasks = which.tasks.map((task, at) => [
    task,
    "sv-headline-task",
    (row) => row.speedups[at] + " ×",
  ]);
  /** @type {Column<BoardRow>[]} */
  const columns = [
    [
      "method",
      "sv-headline-method",
      (row) => lines(el("b", "", row.method), stage.config.full[row.method]),
    ],
    ["overall", "sv-headline-number", (row) => el("b", "", row.overall + " ×")],
    ["tokens per pass", "sv-headline-task", (row) => row.passes],
    ...tasks,
  ];
  $(".sv-headline-board").replaceChildren(
    tabled("Spec-Bench on " + which.device, columns, which.rows),
  );
  const said = which.model + " on " + which.device + "; " + which.conditions + ". Source: ";
  $(".sv-headline-about").replaceChildren(said, cited(which.source));
}

export function boardChoices() {
  /** @type {Option[]} */
  const pairs = stage.config.boards.map(({ device, model }, at) => [
    String(at),
    device + " · " + model,
  ]);
  options($(".sv-headline-device"), pairs);
}

export function ours() {
  const own = stage.config.ours;
  $(".sv-headline-ours-do").hidden = !own;
  if (!own) return;
  /** @type {Column<OwnRow>} */
  const mine = [
    own.heading,
    "sv-headline-mine",
    (row) => lines(el("b", "", row.speedup || "–"), row.apart),
  ];
  /** @type {Column<OwnRow>[]} */
  const more = [
    ["ours: tokens per pass", "sv-headline-mine sv-headline-task", (row) => row.passes || "–"],
    ["ours: α", "sv-headline-mine sv-headline-task", (row) => row.alpha || "–"],
  ];
  const apart = el(
    "p",
    "sv-headline-lead",
    "Do not compare the two: models, prompts and machines differ. A small target such as House needs a very cheap drafter, so most speed-ups are smaller here. " +
      own.how,
  );
  const badges = el(
    "p",
    "sv-headline-both",
    el("span", "sv-headline-badge", "published"),
    " left, ",
    el("span", "sv-headline-measured", "measured"),
    " right",
  );
  $(".sv-headline-ours").replaceChildren(
    apart,
    badges,
    tabled("Published ranges, and those of the House models", [...OWN, mine, ...more], own.rows),
  );
}

export function toggle() {
  const button = $(".sv-headline-toggle");
  const open = button.getAttribute("aria-expanded") !== "true";
  button.setAttribute("aria-expanded", String(open));
  $(".sv-headline-ours").hidden = !open;
}
