// Measured costs as tables: a round of each drafter, and passes by their number of tokens.

import { h, HeadRow } from "../../shared/view";

import type { ComponentChild } from "preact";
import type { DrafterRow } from "../../../cost/measured_costs_text.py";
import type { PassRow } from "./__init__.py";

const COLUMNS: [title: string, simulated: boolean, cell: (row: DrafterRow) => ComponentChild][] = [
  ["drafter", false, (row) => [<b>{row.title}</b>, <small>{row.about}</small>]],
  [
    "drafting",
    false,
    (row) => (
      <span>
        {row.draft + " ms"}
        <small>{row.middle}</small>
      </span>
    ),
  ],
  ["in plain passes", false, (row) => row.share],
  ["c, per level", false, (row) => row.level],
  ["verification", false, (row) => row.check],
  ["acceptance", false, (row) => row.rest],
  ["whole round", false, (row) => row.whole],
  ["pays from α", true, (row) => row.even],
  [
    "speed-up at this α",
    true,
    (row) => <b class={row.gains ? "" : "sv-shapes-slower"}>{row.speedup}</b>,
  ],
];
const PASSES: [title: string, simulated: boolean][] = [
  ["tokens in the pass", false],
  ["measured, ms", false],
  ["plain passes", false],
  ["roofline, ms", true],
];

const ColumnTitle = ([title, simulated]: [
  title: string,
  simulated: boolean,
  ...more: unknown[],
]) => [title, simulated && [" ", <span class="sv-shapes-simulated">simulated</span>]];

const Table = (
  caption: string,
  columns: [title: string, simulated: boolean, ...more: unknown[]][],
  rows: ComponentChild,
) => (
  <table>
    <caption class="sv-unseen">{caption}</caption>
    <thead>{HeadRow(columns.map(ColumnTitle))}</thead>
    <tbody>{rows}</tbody>
  </table>
);

const Cells = (row: DrafterRow) =>
  COLUMNS.map(([title, simulated, cell], at) =>
    h(
      at ? "td" : "th",
      { scope: at ? undefined : "row", "data-label": title + (simulated ? ", simulated" : "") },
      cell(row),
    ),
  );

export const DrafterTable = (rows: DrafterRow[]) =>
  Table(
    "What a round costs, by drafter",
    COLUMNS,
    rows.map((row) => <tr key={row.title}>{Cells(row)}</tr>),
  );

export const PassTable = (rows: PassRow[]) =>
  Table(
    "Pass time by number of tokens",
    PASSES,
    rows.map((row) => (
      <tr key={row[0]}>
        {row.map((text) => (
          <td>{text}</td>
        ))}
      </tr>
    )),
  );
