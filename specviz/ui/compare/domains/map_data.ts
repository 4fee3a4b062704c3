// The map's numbers as files: a row per cell, drafters in the order shown.

import { cellOf, rowsInOrder, view } from "./shown";

import type { DataRow } from "../../shared/data_file";
import type { CellNumbers, Column, Row } from "../../../compare/domains/heatmap.py";

/** The column of each number of a cell. */
const COLUMNS: Record<keyof CellNumbers, string> = {
  speedup: "speedup_times_plain",
  lowest: "lowest_speedup_times_plain",
  highest: "highest_speedup_times_plain",
  accepted_length: "accepted_length_tokens_per_round",
  tokens_per_pass: "tokens_per_target_pass",
  alpha: "alpha",
  guesses_per_round: "guesses_per_round",
  tokens_per_second: "tokens_per_second",
  prompts: "prompts_measured",
  tokens: "new_tokens_in_all_runs",
  seconds: "all_runs_seconds",
};

/** Return the name of a file with the map, without its ending. */
export function mapName() {
  const { live, temperature } = view();
  return "map-of-domains-" + (live ? "live" : "temperature-" + temperature);
}

/** What is on screen, for a picture. */
export function aboutMap() {
  const { badge, where, live, temperature } = view();
  const heat = temperature && "temperature " + temperature;
  return { file: live ? "live" : "recorded-" + heat, facts: [badge, heat, where] };
}

/** The numbers of a cell; null where nothing was measured. */
function numbersOf(row: Row, column: Column): DataRow {
  const numbers = cellOf(row, column)?.numbers;
  const names = Object.keys(COLUMNS) as (keyof CellNumbers)[];
  return {
    drafter: row.name,
    title: row.title,
    is_reference: row.bound,
    domain: column.name,
    ...Object.fromEntries(names.map((name) => [COLUMNS[name], numbers?.[name] ?? null])),
  };
}

const cells = () =>
  rowsInOrder().flatMap((row) => view().columns.map((column) => numbersOf(row, column)));

/** A row per cell; the columns for source and machine are the same in all rows. */
export function mapRows(): DataRow[] {
  const { badge, where } = view();
  return cells().map((cell) => ({ ...cell, source: badge, where }));
}

/** The map with its sentences. */
export function mapData() {
  const { badge, where, headline, detail, caution } = view();
  return { source: badge, where, headline, detail, caution: caution || null, cells: cells() };
}
