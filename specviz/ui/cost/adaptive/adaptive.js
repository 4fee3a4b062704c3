// Adaptive verification: the load and the budget, the grid of requests and positions, and the
// plans. `window.specviz.adaptive` has the functions for other sections.

import { Question } from "../../shared/ask.js";
import { pictures } from "../../shared/picture.js";
import { Stage } from "../../shared/stage.js";
import { h, HeadRow, render } from "../../shared/view.js";
import { Choice, notice } from "../shared/fields.js";
import { keepDrawn, Plot } from "../shared/figure.js";
import { Part } from "../shared/part.js";

/** @import { Start } from "../../shared/section.js" */
/** @import { Answer, Asked, Cell, Config, PlanRow, Row } from "./__init__.py" */

const KEYS = [
  ["adaptive", "the likeliest slots"],
  ["static", "the best single γ"],
  ["whole", "whole drafts"],
];
const HEADS = ["", "draft tokens checked", "tokens a pass", "ms", "tokens/s"];

/** @type {Stage<Config>} */
const stage = new Stage();
const { $ } = stage;
/** @param {string} sentence */
const fault = (sentence) => notice($(".sv-adaptive-wrong"), sentence);
/** @type {Question<Answer>} */
const question = new Question("adaptive", fault);
/** @type {Asked} */
let asked;
/** @type {Answer} */
let last;
/** @type {Part} */
let part;

/** @param {Partial<Asked>} values */
function change(values) {
  Object.assign(asked, values);
  showControls();
  part.changed();
}

/** @param {Answer} answer */
function show(answer) {
  last = answer;
  draw();
}

/**
 * @param {keyof Asked} name
 * @param {string} title
 * @param {import("preact").ComponentChild} control
 * @param {string} [shown] The value as text, beside a slider.
 */
const Field = (name, title, control, shown) =>
  h(
    "label",
    { key: name, class: "sv-adaptive-field" },
    h("span", null, title, shown && h("output", null, shown)),
    control,
  );

/**
 * @param {keyof Asked} name
 * @param {number} most
 * @param {number} step
 * @param {number} value
 * @param {(value: number) => void} take
 */
const Slider = (name, most, step, value, take) =>
  h("input", {
    type: "range",
    name,
    min: 0,
    max: most,
    step,
    value,
    /** @param {Event & { currentTarget: HTMLInputElement }} event */
    onInput: (event) => take(event.currentTarget.valueAsNumber),
  });

function Controls() {
  const { drafters, setups, loads } = stage.config;
  const load = loads.indexOf(asked.requests);
  const slots = asked.slots ?? last.best;
  return [
    Field(
      "setup",
      "Model and machine",
      Choice({ name: "setup" }, setups, asked.setup, (setup) => change({ setup, slots: null })),
    ),
    Field(
      "drafter",
      "Drafter",
      Choice({ name: "drafter" }, drafters, asked.drafter, (drafter) =>
        change({ drafter, slots: null }),
      ),
    ),
    Field(
      "temperature",
      "Temperature",
      Choice(
        { name: "temperature" },
        [
          ["0", "0"],
          ["1", "1"],
        ],
        String(asked.temperature),
        (text) => change({ temperature: Number(text), slots: null }),
      ),
    ),
    Field(
      "requests",
      "Requests",
      Slider("requests", loads.length - 1, 1, load, (at) =>
        change({ requests: loads[at], slots: null }),
      ),
      String(asked.requests),
    ),
    Field(
      "drafting",
      "Drafting a round, in plain passes",
      Slider("drafting", 1.5, 0.05, asked.drafting, (drafting) => change({ drafting })),
      asked.drafting.toFixed(2),
    ),
    Field(
      "slots",
      "Budget: draft tokens to check",
      Slider("slots", last.most, 1, slots, (value) => change({ slots: value })),
      String(slots),
    ),
    h(
      "button",
      {
        key: "best",
        type: "button",
        class: "sv-button sv-adaptive-best",
        disabled: asked.slots === null,
        onClick: () => change({ slots: null }),
      },
      "Best budget",
    ),
    h("p", { key: "dear", class: "sv-adaptive-dear" }, last.drafting),
  ];
}

const showControls = () => render(Controls(), $(".sv-adaptive-controls"));

/** @param {Cell} cell @param {number} of */
const state = ({ checked }, of) => (checked === 0 ? "no" : checked === of ? "yes" : "part");

/** @param {Row} row @param {number} places */
const GridRow = ({ title, requests, cells }, places) =>
  h(
    "tr",
    { key: title },
    h("th", { scope: "row" }, title, h("small", null, requests + " requests")),
    Array.from({ length: places }, (_, at) => {
      const cell = cells[at];
      if (!cell) return h("td", { key: at, class: "sv-adaptive-none" });
      return h(
        "td",
        {
          key: at,
          class: "sv-adaptive-" + state(cell, requests),
          style: { "--shade": Math.round(100 * cell.shade) + "%" },
          title: cell.said,
        },
        h("b", null, cell.shown),
        h("small", null, cell.checked + " of " + requests),
      );
    }),
  );

const Grid = () => [
  h(
    "figcaption",
    null,
    h("b", null, "Probability that a draft token is kept"),
    " Outlined: checked in this pass.",
  ),
  h(
    "table",
    { class: "sv-adaptive-table" },
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        h("th", { scope: "col" }, "place"),
        Array.from({ length: last.places }, (_, at) => h("th", { key: at, scope: "col" }, at + 1)),
      ),
    ),
    h(
      "tbody",
      null,
      last.rows.map((row) => GridRow(row, last.places)),
    ),
  ),
  h("p", { class: "sv-adaptive-example" }, last.example),
];

const Chart = () => [
  h(
    "figcaption",
    null,
    h("b", null, "Speed over plain decoding, by load"),
    h(
      "span",
      { class: "sv-adaptive-keys" },
      KEYS.map(([name, title]) =>
        h("span", { key: name }, h("i", { class: "sv-adaptive-line-" + name }), title),
      ),
    ),
  ),
  Plot("sv-plot sv-adaptive-plot", last.figure, { "aria-label": last.answer }),
];

/** @param {PlanRow} row */
const PlanCells = ({ name, title, cells }) =>
  h(
    "tr",
    { key: name },
    h("th", { scope: "row" }, title),
    cells.map((text, at) => h("td", { key: at, "data-label": HEADS[at + 1] }, text)),
  );

const Plans = () =>
  h("table", null, h("thead", null, HeadRow(HEADS)), h("tbody", null, last.plans.map(PlanCells)));

/** The load on screen, for a picture. */
function about() {
  const { drafters, setups } = stage.config;
  const titles = Object.fromEntries([...drafters, ...setups]);
  const { drafter, setup, temperature, requests } = asked;
  const facts = [titles[setup], titles[drafter], "temperature " + temperature];
  return {
    file: "cost-adaptive",
    facts: ["simulated", ...facts, requests + " requests", last.answer],
  };
}

function draw() {
  $(".sv-fold-answer").textContent = last.answer;
  if (!part.open) return;
  showControls();
  $(".sv-adaptive-answer").textContent = last.answer;
  render(Grid(), $(".sv-adaptive-grid"));
  render(Chart(), $(".sv-adaptive-chart"));
  render(Plans(), $(".sv-adaptive-plans"));
}

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  asked = { ...config.start };
  last = config.first;
  question.wire(() => asked, show);
  part = new Part($("[data-part]"), () => {
    draw();
    question.ask();
  });
  part.redraw = draw;
  window.specviz.adaptive = {
    question,
    get last() {
      return last;
    },
  };
  $(".sv-adaptive-pictures").append(
    pictures(about, [
      ["tokens to check", () => $(".sv-adaptive-grid")],
      ["speed by load", () => $(".sv-adaptive-chart")],
    ]),
  );
  draw();
  keepDrawn(element, draw, fault);
}
