// The sandbox, and the API for other sections: `window.specviz.sandbox`.

import { Question } from "../../shared/ask.js";
import { markWidth } from "../../shared/page.js";
import { pictures } from "../../shared/picture.js";
import { expect } from "../../shared/tabs.js";
import { h, render } from "../../shared/view.js";
import { OutputColumns, WordRow } from "../shared/output_columns.js";
import { Controls } from "./controls.js";
import { keepLink, linkedState } from "./link.js";
import { ProbabilityBars } from "./probability_bars.js";
import { $, choose, load, move, request, ruleOf, stage, state } from "./state.js";
import { NumbersTable, Verdict } from "./verdict.js";

/** @import { Word } from "../../../frames/scene.py" */
/** @import { Start } from "../../shared/section.js" */
/** @import { Answer } from "./answer.py" */
/** @import { Config } from "./__init__.py" */
/** @import { DistributionName, State } from "./state.js" */

const ROOM = 1.12; // space above the tallest bar, so that it can be dragged higher
const OFF = 5e-4; // a larger difference from p is marked
const KEYS = [
  ["kept", "an accepted guess"],
  ["filled", "a replacement after a rejection"],
  ["outline", "the target’s p"],
];
/** @type {Question<Answer>} */
const question = new Question("sandbox", fault);
/** @type {Set<() => void>} */
const listeners = new Set(); // called after each answer is shown
let writeLink = () => {};
let dragScale = 0; // scale of the bars during a drag, which must not change under the pointer
/** @type {State | null} */
let before = null; // the state that a position of a run replaced
let asked = state; // state of the current question
/** @type {{ answer: Answer, words: Word[], p: number[] } | null} */
let shown = null; // the last answer, with its words and p

/** Return the probability of a full column, the same in all three rows. */
const scale = () =>
  dragScale || Math.min(1, Math.max(0.2, ROOM * Math.max(...state.p, ...state.q)));

function show() {
  const undo = () => {
    if (before) go(before);
    $("#sv-sand-preset").focus();
  };
  render(Controls({ changed, reveal, undo }), $(".sv-sand-asked"));
  render(Grid(), $(".sv-sand-grid"));
  const { answer = null, words = [] } = shown ?? {};
  render(Verdict(answer, words), $(".sv-sand-found"));
  render(answer && NumbersTable(answer, words), $(".sv-sand-scroll"));
}

/** @param {string} title @param {string} note @param {string} [ink] @param {string} [noteClass] */
const RowName = (title, note, ink, noteClass) =>
  h(
    "p",
    { class: "sv-sand-name" },
    h("b", { class: ink }, title),
    h("span", { class: noteClass }, note),
  );

/** The rows of p, q and the output, with the words below. */
function Grid() {
  return [
    RowName("target p", "drag a bar", "sv-sand-p-ink"),
    DraggedBars("p"),
    RowName("drafter q", "drag a bar", "sv-sand-q-ink"),
    DraggedBars("q"),
    RowName("output", "outline: p", undefined, "sv-sand-outline-key"),
    Output(),
    h("span", null),
    WordRow(state.words),
  ];
}

/** @param {DistributionName} name */
const DraggedBars = (name) =>
  ProbabilityBars({
    name,
    words: state.words,
    values: state[name],
    scale: scale(),
    onMove(at, value) {
      move(name, at, value);
      changed();
    },
    onDrag(drags) {
      dragScale = drags ? scale() : 0;
      if (!drags) changed();
    },
  });

function Output() {
  const name = "sv-sand-out";
  if (!shown) return h("div", { class: "sv-sand-bars " + name });
  const { answer, words, p } = shown;
  return OutputColumns({
    words,
    p,
    parts: [
      ["sv-sand-kept", answer.kept],
      ["sv-sand-filled", answer.filled],
    ],
    scale: scale(),
    digits: 2,
    tolerance: OFF,
    name,
  });
}

const Legend = () =>
  KEYS.map(([name, meaning]) =>
    h("li", null, h("i", { class: "sv-sand-key sv-sand-" + name }), meaning),
  );

function changed() {
  writeLink();
  show();
  question.ask();
}

/** The experiment, for a picture. */
function about() {
  const { drawn, candidates, from, preset } = state;
  const { presets, drawn: ways } = stage.config;
  const title = presets.find(({ name }) => name === preset)?.title;
  const guesses = candidates === 1 ? "1 guess" : candidates + " guesses";
  const way = ways.find(({ value }) => value === drawn)?.title;
  return {
    file: "rule-" + state.rule,
    facts: [from || title, guesses + ", " + way, ruleOf(state.rule).title, shown?.answer.verdict],
  };
}

// On a narrow page the controls are below the output, so scroll to the output.
function reveal() {
  const output = $(".sv-sand-out");
  const { top, bottom } = output.getBoundingClientRect();
  if (top >= 0 && bottom <= innerHeight) return;
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  output.scrollIntoView({ block: "start", behavior: calm ? "auto" : "smooth" });
}

/** @param {string} sentence */
function fault(sentence) {
  render(sentence, $(".sv-sand-notice"));
  stage.element.classList.toggle("sv-sand-faulty", sentence !== "");
}

/** @param {Answer} answer */
function receive(answer) {
  shown = { answer, words: asked.words, p: asked.p };
  show();
  for (const listener of listeners) listener();
}

/** Show other distributions or another rule. @param {Partial<State>} to */
function go(to) {
  const { rule, parameters, ...rest } = to;
  Object.assign(state, rest);
  if (rule) choose(rule, parameters);
  changed();
}

/** Show a position of a run; Undo restores the replaced experiment. @param {Partial<State>} to */
function openPosition(to) {
  if (!state.from) before = structuredClone(state);
  go(to);
}

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  question.wire(() => {
    asked = structuredClone(state);
    return request();
  }, receive);
  window.specviz.sandbox = {
    request,
    go,
    /** @param {() => void} listener */
    onAnswer: (listener) => listeners.add(listener),
    get state() {
      return structuredClone(state);
    },
    question,
    get last() {
      return shown?.answer;
    },
  };
  markWidth($(".sv-sand"));
  $(".sv-sand-asked").addEventListener("submit", (event) => event.preventDefault());
  load(config.presets[0]);
  choose("auto");
  writeLink = keepLink();
  render(Legend(), $(".sv-sand-keys"));
  $(".sv-sand-after").before(pictures(about, [["experiment", () => $(".sv-sand-stage")]]));
  expect("sv-sand", openPosition);
  go(linkedState() ?? {});
}
