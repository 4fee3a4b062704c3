// Results from a server's statistics: advice, charts, and tables of counted values.

import { HeadRow, TableRow } from "../../shared/view";
import { Plot } from "../shared/figure";

import type { ComponentChild } from "preact";
import type { Answer, FigureName } from "./answer.py";

const SIMULATED = <span class="sv-server-mark">simulated</span>;
const PLACES = ["Position", "Accepted, of all drafts", "Accepted, if all before were"];
const LENGTHS = ["Draft length", "Steps", "Mean accepted tokens"];
const KEYS = {
  places: [
    ["dot", "accepted, of all drafts"],
    ["open", "accepted, if all before were"],
  ],
  outlook: [
    ["line", "from counted acceptance"],
    ["broken", "from assumed acceptance"],
    ["dot", "your γ"],
    ["ring", "best γ"],
  ],
};

export const Advice = ({ advice, open }: Answer) => [
  !open && [SIMULATED, " "],
  <p>{open || advice.join(" ")}</p>,
];

const Section = (title: string, about: ComponentChild, ...content: ComponentChild[]) => (
  <section key={title}>
    <h3>
      {title}
      {about && [" ", <span>{about}</span>]}
    </h3>
    {content}
  </section>
);

const Chart = ({ figures, descriptions }: Answer, name: FigureName) => [
  Plot("sv-plot sv-server-plot", figures[name], {
    "data-figure": name,
    "aria-label": descriptions[name],
  }),
  <ul class="sv-server-keys">
    {KEYS[name].map(([mark, text]) => (
      <li>
        <i class={"sv-server-key-" + mark} />
        {text}
      </li>
    ))}
  </ul>,
];

const Table = (name: string, rows: string[][], columns?: string[]) => (
  <table class={"sv-server-table " + name}>
    {columns && <thead>{HeadRow(columns)}</thead>}
    <tbody>{rows.map(TableRow)}</tbody>
  </table>
);

/** A step: a column of its draft tokens, in which the accepted ones are filled from below. */
const StepColumn = ([accepted, drafted]: [number, number], at: number) => (
  <i key={at} title={`Step ${at + 1}: ${accepted} of ${drafted} accepted`}>
    {Array.from({ length: drafted }, (_, place) => (
      <b key={place} class={place < accepted ? "sv-server-kept" : undefined} />
    ))}
  </i>
);

const StepStrip = ({ steps, stepped }: Answer) => [
  <div
    class="sv-server-strip"
    role="img"
    aria-label={steps.map(([accepted, drafted]) => `${accepted} of ${drafted}`).join(", ")}
  >
    {steps.map(StepColumn)}
  </div>,
  stepped > steps.length && (
    <p class="sv-server-hint">{`The first ${steps.length} of ${stepped} steps.`}</p>
  ),
];

export const ServerReport = (answer: Answer) => [
  answer.figures.places &&
    Section("Acceptance by position", "counted, with 95% intervals", Chart(answer, "places")),
  answer.figures.outlook &&
    Section("Speed-up by γ", ["over plain decoding, ", SIMULATED], Chart(answer, "outlook")),
  answer.stepped > 0 &&
    Section(
      "Step by step",
      "draft tokens of each step, accepted ones filled",
      StepStrip(answer),
      Table("sv-server-lengths", answer.lengths, LENGTHS),
    ),
  Section("Reported values", "", Table("sv-server-facts", answer.facts)),
  answer.figures.places &&
    Section(
      "By position",
      "share in %, with its 95% interval",
      Table("sv-server-places", answer.places, PLACES),
    ),
];
