// One domain on a narrow screen: drafters from best to worst, each with a bar. Speed-ups have a
// logarithmic axis, so that half and twice the speed are at the same distance from plain decoding.

import { Bodies, CellContent, cellAttributes } from "./domain_table";
import { cellOf, listedColumn, numberIn, shown, view } from "./shown";

import type { Row } from "../../../compare/domains/heatmap.py";

export type Axis = {
  at: (value: number) => number;
  from: number;
  ticks: [value: number, title: string][];
};

const POWERS = [0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32];
const STEPS = [1, 2, 5, 10, 20];

/** Return the axis of all columns; it is shared, so that bars can be compared. */
function axis(): Axis {
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
  const at = (value: number) => Math.log(value / least) / Math.log(most / least);
  const ticks = POWERS.filter((power) => power >= least && power <= most);
  return { at, from: at(1), ticks: ticks.map((power) => [power, power + " ×"]) };
}

const percent = (share: number) => (100 * share).toFixed(2) + "%";

function Bar(value: number, { at, from }: Axis) {
  if (!(value > 0)) return null;
  const [left, right] = [from, at(value)].sort((a, b) => a - b);
  return (
    <i
      class="sv-domains-bar-of"
      style={{ left: percent(left), width: percent(Math.max(right - left, 0.004)) }}
    />
  );
}

const Ticks = ({ at, ticks }: Axis) =>
  ticks.map(([value, title]) => (
    <span key={value} style={{ left: percent(at(value)) }}>
      {title}
    </span>
  ));

export function DomainList(rows: Row[], references: string) {
  const column = listedColumn();
  const place = view().columns.indexOf(column);
  const scale = axis();
  return [
    <thead>
      <tr>
        <th scope="col">
          <span>Drafter</span>
        </th>
        <th scope="col">
          <span class="sv-domains-spoken">{column.title}</span>
          <span class="sv-domains-ticks" aria-hidden="true">
            {Ticks(scale)}
          </span>
        </th>
      </tr>
    </thead>,
    Bodies(rows, references, 2, (row, at) => (
      <tr key={row.name}>
        <th scope="row">{row.title}</th>
        <td {...cellAttributes(row, column, at, place)}>
          <span class="sv-domains-track" style={{ "--one": percent(scale.from) }}>
            {Bar(numberIn(cellOf(row, column)), scale)}
          </span>
          <span class="sv-domains-value">{CellContent(row, column)}</span>
        </td>
      </tr>
    )),
  ];
}

/** Buttons for the domains. */
export const DomainChoice = (choose: (column: string) => void) =>
  view().columns.map(({ name, title }) => (
    <button
      key={name}
      type="button"
      aria-pressed={name === listedColumn().name}
      onClick={() => choose(name)}
    >
      {title}
    </button>
  ));
