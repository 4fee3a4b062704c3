// The charts of an answer with their legends, and one round with its table.

import { percent } from "../../shared/dom";

import { Plot } from "../shared/figure";

import type { ComponentChild } from "preact";
import type { Answer, FigureName, Round } from "./answer.py";

const CHARTS: [
  name: FigureName,
  title: string,
  about: string,
  keys: [style: string, title: string][],
][] = [
  [
    "speed",
    "Speed-up",
    "by batch size; 1 × is plain decoding at the same batch size",
    [
      ["ink", "this drafter"],
      ["area", "over the efficiencies that sources report"],
      ["dash", "if drafting were free"],
      ["open", "first batch size that is slower"],
    ],
  ],
  [
    "pass",
    "Time of a target pass",
    "at this batch size",
    [
      ["p", "the pass"],
      ["dash", "memory reads alone"],
      ["dot", "arithmetic alone"],
    ],
  ],
  [
    "gamma",
    "Best γ",
    "by batch size, for a chain of up to 16 with this α and drafter",
    [
      ["q", "best γ"],
      ["inkdash", "your γ"],
    ],
  ],
];
/** Traces of the speed-up chart; without them, the legend has no entry for these styles. */
const NEEDS: Record<string, string> = {
  area: "02-efficiencies",
  dash: "11-costless",
  open: "41-loss",
};

const Section = (title: string, about: string, ...content: ComponentChild[]) => (
  <section key={title}>
    <h3>
      {title + " "}
      <span>{about}</span>
    </h3>
    {content}
  </section>
);

const Bar = (name: string, spans: [hue: string, value: number][], text: string, scale: number) => (
  <div class="sv-roofline-line">
    <span>{name}</span>
    <span class="sv-roofline-bar">
      {spans.map(
        ([hue, value]) =>
          value > 0 && <i class={"sv-roofline-" + hue} style={{ width: percent(value / scale) }} />,
      )}
      <b>{text}</b>
    </span>
  </div>
);

function OneRound({ brings, draft, verify, said, costs, speedup }: Round) {
  const scale = 1.3 * Math.max(brings, draft + verify);
  return (
    <div class="sv-roofline-round">
      {Bar("brings", [["ink", brings]], said[0], scale)}
      {Bar(
        "costs",
        [
          ["q", draft],
          ["p", verify],
        ],
        said[1],
        scale,
      )}
      <p>
        {"Speed-up "}
        <b>{speedup}</b>
        {` = tokens ÷ cost. The cost is ${costs}.`}
      </p>
    </div>
  );
}

const Facts = (rows: Answer["facts"]) => (
  <table class="sv-roofline-table">
    <thead>
      <tr>
        <th scope="col">
          <span class="sv-roofline-quiet">Quantity</span>
        </th>
        {["plain", "speculative"].map((title) => (
          <th scope="col">{title}</th>
        ))}
      </tr>
    </thead>
    <tbody>
      {rows.map(([name, ...values]) => (
        <tr key={name}>
          <th scope="row">{name}</th>
          {values.map((value) => (
            <td>{value}</td>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
);

export const RooflineCharts = ({ figures, descriptions, round, facts }: Answer) => [
  ...CHARTS.map(([name, title, about, keys]) => {
    const drawn = figures[name].data;
    const shown = keys.filter(
      ([style]) => name !== "speed" || !NEEDS[style] || drawn[NEEDS[style]],
    );
    return Section(
      title,
      about,
      Plot("sv-plot sv-roofline-plot", figures[name], {
        "data-figure": name,
        "aria-label": descriptions[name],
      }),
      <ul class="sv-roofline-legend" data-legend={name}>
        {shown.map(([style, text]) => (
          <li key={style}>
            <i class={"sv-roofline-key-" + style} />
            {text}
          </li>
        ))}
      </ul>,
    );
  }),
  Section(
    "One round",
    "of one sequence, in tokens and plain passes",
    OneRound(round),
    Facts(facts),
  ),
];
