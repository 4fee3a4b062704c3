// The speed-up formula and its trees: the values of the sliders, the question with these values,
// and the answer. `window.specviz.law` has the functions for other sections.

import { Question } from "../../shared/ask";
import { markWidth } from "../../shared/page";
import { pictures } from "../../shared/picture";
import { plotly, unitsAt } from "../../shared/plot";
import { Stage } from "../../shared/stage";
import { expect } from "../../shared/tabs";
import { there } from "../../shared/there";
import { render } from "../../shared/view";
import { linked, linkedText, note, touch } from "../shared/address";
import { notice } from "../shared/fields";
import { keepDrawn } from "../shared/figure";
import { Part } from "../shared/part";
import { originOf, pairOf, runs } from "../shared/runs";
import { begin, onTerms, setTerms, terms } from "../shared/terms";
import { FormulaCharts } from "./formula_charts";
import { bound, MeasuredRun } from "./measured_run";
import { QuantityFields } from "./quantity_fields";
import { RoundBars } from "./round_bars";
import { TreeCards } from "./tree_cards";

import type { Refusal } from "../../questions.py";
import type { PointData } from "../../step/lines.py";
import type { NamedPoint, Start } from "../../shared/section";
import type { Which } from "../shared/runs";
import type { Answer, Formula } from "./answer.py";
import type { Config, State } from "./__init__.py";

export type Trees = NonNullable<Answer["trees"]>;
export type Text = "widths" | "places";
/** The numbers of a run that the formula reads. */
export type Measured = Omit<PointData, "predicted">;

const MEASURED: (keyof Measured)[] = [
  "alpha",
  "gamma",
  "guesses",
  "c",
  "verify",
  "tokens",
  "speedup",
];
const PER_PASS: keyof Measured = "tokens_per_pass"; // missing in the files of older pages
const OWN: ("c" | "verify" | "c_hat")[] = ["c", "verify", "c_hat"]; // α and γ belong to the whole tab
const TEXTS: Text[] = ["widths", "places"];

const stage: Stage<Config> = new Stage();
const { $ } = stage;
const state: State = {
  alpha: null,
  gamma: null,
  c: null,
  verify: null,
  c_hat: null,
  map: "gamma",
  widths: "",
  places: "",
};
let last: Formula | null = null; // the last answer without an error
let trees: Trees | null = null;
let parts: Part[] = [];
let sending = false;
let wrong = ""; // the quantity that the notice is about

const question: Question<Answer> = new Question("law", fault);

const chosen = () => runs[runs.chosen];

// Return the question; the name of the run stays in the browser.
function request() {
  const point = chosen();
  const names = point?.tokens_per_pass === undefined ? MEASURED : [...MEASURED, PER_PASS];
  const run = point && Object.fromEntries(names.map((name) => [name, point[name]]));
  return { ...state, run, parts: parts.filter((part) => part.open).map(({ name }) => name) };
}

// Send one question for both parts.
function send() {
  if (sending) return;
  sending = true;
  queueMicrotask(() => {
    sending = false;
    question.ask();
  });
}

function ask() {
  const { start } = stage.config;
  const rest: (keyof State)[] = ["verify", "c_hat", "map", ...TEXTS]; // in a link only where they were changed
  const changed = rest.map((name) => [name, state[name] === start[name] ? null : state[name]]);
  note("law", { c: state.c, ...Object.fromEntries(changed) });
  showFields();
  for (const part of parts) part.changed();
}

const change: <Name extends keyof State>(name: Name, value: State[Name]) => void = (
  name,
  value,
) => {
  state[name] = value;
  touch();
  if (name === "alpha" || name === "gamma") setTerms({ [name]: value });
  else ask();
};

function fault(sentence: string, refusal?: Refusal) {
  notice($(".sv-law-notice"), sentence);
  wrong = refusal?.field ?? "";
  showFields();
}

function show({ formula, trees: compared }: Answer) {
  last = formula ?? last;
  trees = compared ?? trees;
  draw();
}

function showFields() {
  render(QuantityFields(state, stage.config.limits, wrong, change), $(".sv-law-quantities"));
}

function draw() {
  const [formula, tree] = parts;
  if (last) answered("formula", last.best + " " + last.chosen);
  if (formula.open && last) showFormula(last);
  if (tree.open && trees) showTrees(trees);
}

function answered(name: string, sentence: string) {
  $(`[data-answer=${name}]`).textContent = bound(sentence);
}

function showFormula(answer: Formula) {
  $(".sv-law-best").textContent = bound(answer.best);
  $(".sv-law-chosen").textContent = bound(answer.chosen);
  render(RoundBars(answer.round), $(".sv-law-one"));
  render(
    [
      FormulaCharts(answer, state.map, (map) => change("map", map), goThere),
      MeasuredRun(chosen(), answer.run, choose, take),
    ],
    $(".sv-law-figures"),
  );
}

function showTrees(answer: Trees) {
  notice($(".sv-law-fault"), answer.problem || "");
  for (const name of TEXTS)
    $(`[name=${name}]`).setAttribute("aria-invalid", String(name === answer.field));
  if (answer.problem !== undefined) return;
  answered("trees", answer.said);
  $(".sv-law-said").textContent = answer.said;
  render(TreeCards(answer.cards), $(".sv-law-cards"));
}

function choose(which: Which) {
  runs.chosen = which;
  ask();
}

// Set the sliders to the run's values, so that the curve is the formula for this run. α and γ apply
// to the whole tab.
function take() {
  const point = chosen();
  if (!point) return;
  state.c = Number(point.c.toFixed(3));
  state.verify = Number(point.verify.toFixed(3));
  setTerms(pairOf(point), originOf(point, runs.chosen));
}

function fromStep() {
  runs.step = window.specviz?.measured || null;
  if (runs.step || !runs.compare) runs.chosen = "step";
  ask();
}

function fromCompare(point: NamedPoint) {
  if (!point || !MEASURED.every((name) => Number.isFinite(point[name]))) return;
  runs.compare = point;
  runs.chosen = "compare";
  parts[0].show();
  take();
}

// Set the sliders to the point of the map that was clicked; with the keyboard, the sliders
// themselves are used.
function goThere(event: MouseEvent) {
  if (!last || !plotly || stage.element.closest(".sv-large")) return;
  const [x, y] = unitsAt($(".sv-law-map"), last.map, event);
  const [bottom, top] = last.map.layout.yaxis.range;
  if (x < 0 || x > 1 || y < bottom || y > top) return;
  const alpha = Number(x.toFixed(2));
  if (state.map === "gamma") return setTerms({ alpha, gamma: Math.round(y) });
  state.c = Number(y.toFixed(2));
  setTerms({ alpha });
}

// Read the values from the link, if it has them; α and γ belong to the whole tab.
function fromAddress() {
  const { start } = stage.config;
  Object.assign(state, start, { alpha: terms.alpha, gamma: terms.gamma });
  for (const name of OWN) state[name] = linked(name) ?? start[name];
  for (const name of TEXTS) state[name] = linkedText(name) ?? start[name];
  if (linkedText("map") === "c") state.map = "c";
}

function wire() {
  for (const name of TEXTS) {
    const box: HTMLInputElement = $(`[name=${name}]`);
    box.value = state[name];
    box.addEventListener("input", () => change(name, box.value));
  }
  for (const form of stage.all("form"))
    form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("sv-measured", fromStep);
  onTerms(() => {
    Object.assign(state, { alpha: terms.alpha, gamma: terms.gamma });
    ask();
  });
}

const figure = (plot: string): HTMLElement => there($(plot).closest("figure"));

/** The values on screen, for a picture. */
function aboutFormula() {
  const { alpha, gamma, c, verify } = state;
  const values = `α ${alpha}, γ ${gamma}, c ${c}, v ${verify}`;
  return { file: "cost-formula", facts: ["simulated", values, last?.chosen] };
}

/** The trees on screen, for a picture. */
function aboutTrees() {
  const { widths, places, c, verify } = state;
  const values = `acceptance by rank ${places}, c ${c}, v ${verify}`;
  return { file: "cost-trees", facts: ["simulated", "children " + widths, values, trees?.said] };
}

export const start: Start<Config> = (element, props, _watch, _trigger, config) => {
  stage.set(element, props, config);
  question.wire(request, show);
  begin(config.terms);
  fromAddress();
  answered("trees", config.trees);
  const folds: HTMLDetailsElement[] = stage.all("details");
  parts = folds.map((fold, at) => new Part(fold, send, at ? TEXTS : ["map"]));
  for (const part of parts) part.redraw = draw;
  window.specviz.law = {
    request,
    question,
    get state() {
      return { ...state };
    },
    get last() {
      return last;
    },
  };
  wire();
  markWidth($(".sv-law"));
  $(".sv-law-pictures").append(
    pictures(aboutFormula, [
      ["one round", () => $(".sv-law-one")],
      ["speed-up by draft length", () => figure(".sv-law-speed")],
      ["time and arithmetic", () => figure(".sv-law-time")],
      ["surface", () => figure(".sv-law-map")],
    ]),
  );
  $(".sv-law-trees").append(pictures(aboutTrees, [["trees compared", () => $(".sv-law-cards")]]));
  keepDrawn(element, draw, fault);
  fromStep();
  expect("sv-law", fromCompare);
};
