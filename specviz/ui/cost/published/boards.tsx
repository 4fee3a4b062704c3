// Spec-Bench's tables, and the House models' own numbers next to published ranges.

import { CardsTable, Lines, Stated } from "./cards_table";

import type { Column } from "./cards_table";
import type { BoardData, BoardRowData, Own, OwnRow } from "./__init__.py";

/** @param full Methods by their abbreviations. */
export function BoardTable(
  { device, tasks, rows }: BoardData,
  full: Record<string, string>,
  here: string,
) {
  const columns: Column<BoardRowData>[] = [
    ["method", "sv-headline-method", (row) => Lines(<b>{row.method}</b>, full[row.method])],
    ["overall", "sv-headline-number", (row) => <b>{row.overall + " ×"}</b>],
    ["tokens per pass", "sv-headline-task", (row) => row.passes],
    ...tasks.map(
      (task, at): Column<BoardRowData> => [
        task,
        "sv-headline-task",
        (row) => row.speedups[at] + " ×",
      ],
    ),
  ];
  return CardsTable("Spec-Bench on " + device, columns, rows, here);
}

const APART =
  "Do not compare the two: models, prompts and machines differ. A small target such as House needs a very cheap drafter, so most speed-ups are smaller here. ";

export function OwnNumbers(own: Own, open: boolean, toggle: () => void) {
  const columns: Column<OwnRow>[] = [
    ["family", "sv-headline-method", (row) => <b>{row.method}</b>],
    [
      "published: other models, other hardware",
      "sv-headline-theirs",
      (row) => Stated(row.published),
    ],
    [own.heading, "sv-headline-mine", (row) => Lines(<b>{row.speedup || "–"}</b>, row.apart)],
    ["ours: tokens per pass", "sv-headline-mine sv-headline-task", (row) => row.passes || "–"],
    ["ours: α", "sv-headline-mine sv-headline-task", (row) => row.alpha || "–"],
  ];
  return [
    <div class="sv-headline-ours-do">
      <button
        type="button"
        class="sv-headline-toggle"
        aria-expanded={open}
        aria-controls="sv-headline-ours"
        onClick={toggle}
      >
        Show ours beside them
      </button>
      <span>The House models of this page, by drafter family.</span>
    </div>,
    <div class="sv-headline-ours" id="sv-headline-ours" hidden={!open}>
      <p class="sv-headline-lead">{APART + own.how}</p>
      <p class="sv-headline-both">
        <span class="sv-headline-badge">published</span>
        {" left, "}
        <span class="sv-headline-measured">measured</span>
        {" right"}
      </p>
      {CardsTable("Published ranges, and those of the House models", columns, own.rows)}
    </div>,
  ];
}
