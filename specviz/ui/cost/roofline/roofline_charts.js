// The charts of an answer with their legends, and one round with its table.

import { percent } from "../../shared/dom.js";
import { h } from "../../shared/view.js";
import { Plot } from "../shared/figure.js";

/** @import { ComponentChild } from "preact" */
/** @import { Answer, FigureName, Round } from "./answer.py" */

/** @type {[name: FigureName, title: string, about: string, keys: [style: string, title: string][]][]} */
const CHARTS = [
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
/**
 * Traces of the speed-up chart; without them, the legend has no entry for these styles.
 * @type {Record<string, string>}
 */
const NEEDS = { area: "02-efficiencies", dash: "11-costless", open: "41-loss" };

/** @param {string} title @param {string} about @param {ComponentChild[]} content */
const Section = (title, about, ...content) =>
  h("section", { key: title }, h("h3", null, title + " ", h("span", null, about)), ...content);

/** @param {string} name @param {[hue: string, value: number][]} spans @param {string} text @param {number} scale */
const Bar = (name, spans, text, scale) =>
  h(
    "div",
    { class: "sv-roofline-line" },
    h("span", null, name),
    h(
      "span",
      { class: "sv-roofline-bar" },
      spans.map(
        ([hue, value]) =>
          value > 0 &&
          h("i", { class: "sv-roofline-" + hue, style: { width: percent(value / scale) } }),
      ),
      h("b", null, text),
    ),
  );

/** @param {Round} round */
function OneRound({ brings, draft, verify, said, costs, speedup }) {
  const scale = 1.3 * Math.max(brings, draft + verify);
  return h(
    "div",
    { class: "sv-roofline-round" },
    Bar("brings", [["ink", brings]], said[0], scale),
    Bar(
      "costs",
      [
        ["q", draft],
        ["p", verify],
      ],
      said[1],
      scale,
    ),
    h("p", null, "Speed-up ", h("b", null, speedup), ` = tokens ÷ cost. The cost is ${costs}.`),
  );
}

/** @param {Answer["facts"]} rows */
const Facts = (rows) =>
  h(
    "table",
    { class: "sv-roofline-table" },
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        h("th", { scope: "col" }, h("span", { class: "sv-roofline-quiet" }, "Quantity")),
        ["plain", "speculative"].map((title) => h("th", { scope: "col" }, title)),
      ),
    ),
    h(
      "tbody",
      null,
      rows.map(([name, ...values]) =>
        h(
          "tr",
          { key: name },
          h("th", { scope: "row" }, name),
          values.map((value) => h("td", null, value)),
        ),
      ),
    ),
  );

/** @param {Answer} answer */
export const RooflineCharts = ({ figures, descriptions, round, facts }) => [
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
      h(
        "ul",
        { class: "sv-roofline-legend", "data-legend": name },
        shown.map(([style, text]) =>
          h("li", { key: style }, h("i", { class: "sv-roofline-key-" + style }), text),
        ),
      ),
    );
  }),
  Section(
    "One round",
    "of one sequence, in tokens and plain passes",
    OneRound(round),
    Facts(facts),
  ),
];
