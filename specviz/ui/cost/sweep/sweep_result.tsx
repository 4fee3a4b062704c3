// A sweep: a chart of marks and dashed lines, sentences, and all numbers as a table.

import { Plot } from "../shared/figure";

import type { VNode } from "preact";
import type { SweepRow } from "../../../cost/sweep_text.py";
import type { SweepData } from "./__init__.py";

const COLUMNS: [key: keyof SweepRow, title: string, name: string][] = [
  ["tokens", "tokens in the pass", ""],
  ["guesses", "draft tokens verified", ""],
  ["measured", "measured, ms", ""],
  ["middle", "middle 50%, ms", "sv-sweep-wide"],
  ["passes", "plain passes", ""],
  ["roofline", "roofline, ms", ""],
];
const SENTENCES: ("must" | "memory" | "gap" | "grows" | "caution" | "how")[] = [
  "must",
  "memory",
  "gap",
  "grows",
  "caution",
  "how",
];
const KEYS = [
  ["mark", "measured: median and middle 50%"],
  ["dash", "roofline: simulated"],
  ["dots", "roofline + overhead of a plain pass: simulated"],
  ["level", "one plain pass"],
];

const Table = (rows: SweepRow[]) => (
  <table>
    <caption class="sv-unseen">
      Pass time by number of tokens: measured, and predicted by the roofline
    </caption>
    <thead>
      <tr>
        {COLUMNS.map(([key, title, name]) => (
          <th class={name} scope="col">
            {title}
            {key === "roofline" && <span class="sv-sweep-simulated">simulated</span>}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {rows.map((row) => (
        <tr key={row.tokens}>
          {COLUMNS.map(([key, , name]) => (
            <td class={name}>{String(row[key])}</td>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
);

export const SweepResult = (sweep: SweepData, pictures: VNode) => [
  <figure class="sv-sweep-figure">
    <p class="sv-sweep-where">{sweep.where}</p>
    <figcaption class="sv-sweep-keys">
      {KEYS.map(([mark, text]) => (
        <span class="sv-sweep-key">
          <i class={"sv-sweep-" + mark} />
          {text}
        </span>
      ))}
    </figcaption>
    <div class="sv-sweep-place">
      {Plot("sv-plot sv-sweep-plot", sweep.figure, { "aria-labelledby": "sv-sweep-answer" })}
    </div>
  </figure>,
  <div class="sv-sweep-words">
    <p class={"sv-sweep-answer" + (sweep.restless ? " sv-sweep-busy" : "")} id="sv-sweep-answer">
      {sweep.answer}
    </p>
    {SENTENCES.map((name) => (
      <p class={"sv-sweep-" + name} hidden={!sweep[name]}>
        {sweep[name]}
      </p>
    ))}
  </div>,
  pictures,
  <details class="sv-sweep-numbers">
    <summary>All numbers</summary>
    <div class="sv-sweep-table">{Table(sweep.rows)}</div>
  </details>,
];
