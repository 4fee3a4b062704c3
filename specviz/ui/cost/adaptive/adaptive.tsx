// Adaptive verification: the load and the budget, the grid of requests and positions, and the
// plans. `window.specviz.adaptive` has the functions for other sections.

import { Question } from "../../shared/ask";
import { pictures } from "../../shared/picture";
import { Stage } from "../../shared/stage";
import { HeadRow, render } from "../../shared/view";
import { Choice, notice } from "../shared/fields";
import { keepDrawn, Plot } from "../shared/figure";
import { Part } from "../shared/part";

import type { Start } from "../../shared/section";
import type { Answer, Asked, Cell, Config, PlanRow, Row } from "./__init__.py";

const KEYS = [
  ["adaptive", "the likeliest slots"],
  ["static", "the best single γ"],
  ["whole", "whole drafts"],
];
const HEADS = ["", "draft tokens checked", "tokens a pass", "ms", "tokens/s"];

const stage: Stage<Config> = new Stage();
const { $ } = stage;
const fault = (sentence: string) => notice($(".sv-adaptive-wrong"), sentence);
const question: Question<Answer> = new Question("adaptive", fault);
let asked: Asked;
let last: Answer;
let part: Part;

function change(values: Partial<Asked>) {
  Object.assign(asked, values);
  showControls();
  part.changed();
}

function show(answer: Answer) {
  last = answer;
  draw();
}

/** @param shown The value as text, beside a slider. */
const Field = (
  name: keyof Asked,
  title: string,
  control: import("preact").ComponentChild,
  shown?: string,
) => (
  <label key={name} class="sv-adaptive-field">
    <span>
      {title}
      {shown && <output>{shown}</output>}
    </span>
    {control}
  </label>
);

const Slider = (
  name: keyof Asked,
  most: number,
  step: number,
  value: number,
  take: (value: number) => void,
) => (
  <input
    type="range"
    name={name}
    min={0}
    max={most}
    step={step}
    value={value}
    onInput={(event: Event & { currentTarget: HTMLInputElement }) =>
      take(event.currentTarget.valueAsNumber)
    }
  />
);

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
    <button
      key="best"
      type="button"
      class="sv-button sv-adaptive-best"
      disabled={asked.slots === null}
      onClick={() => change({ slots: null })}
    >
      Best budget
    </button>,
    <p key="dear" class="sv-adaptive-dear">
      {last.drafting}
    </p>,
  ];
}

const showControls = () => render(Controls(), $(".sv-adaptive-controls"));

const state = ({ checked }: Cell, of: number) =>
  checked === 0 ? "no" : checked === of ? "yes" : "part";

const GridRow = ({ title, requests, cells }: Row, places: number) => (
  <tr key={title}>
    <th scope="row">
      {title}
      <small>{requests + " requests"}</small>
    </th>
    {Array.from({ length: places }, (_, at) => {
      const cell = cells[at];
      if (!cell) return <td key={at} class="sv-adaptive-none" />;
      return (
        <td
          key={at}
          class={"sv-adaptive-" + state(cell, requests)}
          style={{ "--shade": Math.round(100 * cell.shade) + "%" }}
          title={cell.said}
        >
          <b>{cell.shown}</b>
          <small>{cell.checked + " of " + requests}</small>
        </td>
      );
    })}
  </tr>
);

const Grid = () => [
  <figcaption>
    <b>Probability that a draft token is kept</b>
    {" Outlined: checked in this pass."}
  </figcaption>,
  <table class="sv-adaptive-table">
    <thead>
      <tr>
        <th scope="col">place</th>
        {Array.from({ length: last.places }, (_, at) => (
          <th key={at} scope="col">
            {at + 1}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>{last.rows.map((row) => GridRow(row, last.places))}</tbody>
  </table>,
  <p class="sv-adaptive-example">{last.example}</p>,
];

const Chart = () => [
  <figcaption>
    <b>Speed over plain decoding, by load</b>
    <span class="sv-adaptive-keys">
      {KEYS.map(([name, title]) => (
        <span key={name}>
          <i class={"sv-adaptive-line-" + name} />
          {title}
        </span>
      ))}
    </span>
  </figcaption>,
  Plot("sv-plot sv-adaptive-plot", last.figure, { "aria-label": last.answer }),
];

const PlanCells = ({ name, title, cells }: PlanRow) => (
  <tr key={name}>
    <th scope="row">{title}</th>
    {cells.map((text, at) => (
      <td key={at} data-label={HEADS[at + 1]}>
        {text}
      </td>
    ))}
  </tr>
);

const Plans = () => (
  <table>
    <thead>{HeadRow(HEADS)}</thead>
    <tbody>{last.plans.map(PlanCells)}</tbody>
  </table>
);

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

export const start: Start<Config> = (element, props, _watch, _trigger, config) => {
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
};
