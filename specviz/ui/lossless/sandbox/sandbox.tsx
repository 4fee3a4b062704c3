// The sandbox.

import { markWidth } from "../../shared/page";
import { pictures } from "../../shared/picture";
import { expect } from "../../shared/tabs";
import { render } from "../../shared/view";
import { DistributionGrid } from "../../shared/distribution_grid";
import { Controls } from "./controls";
import { keepLink, linkedState } from "./link";
import { $, choose, load, move, request, ruleOf, stage, state } from "./state";
import { NumbersTable, Verdict } from "./verdict";

import type { Word } from "../../../frames/scene.py";
import type { Start } from "../../shared/section";
import type { Answer, Reply } from "./answer.py";
import type { Config } from "./__init__.py";
import type { State } from "./state";

const ROOM = 1.12; // space above the tallest bar, so that it can be dragged higher
const OFF = 5e-4; // a larger difference from p is marked
const KEYS = [
  ["kept", "an accepted guess"],
  ["filled", "a replacement after a rejection"],
  ["outline", "the target’s p"],
];
let send = () => {}; // sends the experiment to Python, once it has answered the one before
let waits = false; // whether an experiment is not sent yet
const sent: Map<number, State> = new Map(); // experiments without an answer, by number
let last = 0; // the number of the newest experiment
let writeLink = () => {};
let dragScale = 0; // scale of the bars during a drag, which must not change under the pointer
let before: State | null = null; // the state that a position of a run replaced
let shown: { answer: Answer; words: Word[]; p: number[] } | null = null; // the last answer, with its words and p

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

const Grid = () =>
  DistributionGrid({
    words: state.words,
    p: state.p,
    q: state.q,
    output: shown && { words: shown.words, p: shown.p, ...shown.answer },
    scale: scale(),
    tolerance: OFF,
    onMove(name, at, value) {
      move(name, at, value);
      changed();
    },
    onDrag(drags) {
      dragScale = drags ? scale() : 0;
      if (!drags) changed();
    },
  });

const Legend = () =>
  KEYS.map(([name, meaning]) => (
    <li>
      <i class={"sv-sand-key sv-sand-" + name} />
      {meaning}
    </li>
  ));

function changed() {
  writeLink();
  show();
  send();
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

function fault(sentence: string) {
  render(sentence, $(".sv-sand-notice"));
  stage.element.classList.toggle("sv-sand-faulty", sentence !== "");
}

/** Show a reply, unless that to a newer experiment was shown before. */
function receive({ number, answer, problem = "" }: Reply) {
  const asked = sent.get(number);
  for (const each of sent.keys()) if (each <= number) sent.delete(each);
  fault(problem);
  if (!asked || !answer) return;
  shown = { answer, words: asked.words, p: asked.p };
  show();
}

/** Show other distributions or another rule. */
function go(to: Partial<State>) {
  const { rule, parameters, ...rest } = to;
  Object.assign(state, rest);
  if (rule) choose(rule, parameters);
  changed();
}

/** Show a position of a run; Undo restores the replaced experiment. */
function openPosition(to: Partial<State>) {
  if (!state.from) before = structuredClone(state);
  go(to);
}

export const start: Start<Config> = (element, props, watch, trigger, config) => {
  stage.set(element, props, config);
  send = () => {
    waits = true;
    trigger("asked");
  };
  watch("value", () => {
    receive(JSON.parse(props.value ?? ""));
    trigger("answered", {});
  });
  const api = {
    request,
    go,
    open(to: Partial<State>) {
      openPosition(to);
      element.scrollIntoView({ block: "start" });
    },
    get state() {
      return structuredClone(state);
    },
    ask() {
      waits = false;
      last += 1;
      sent.set(last, structuredClone(state));
      return { ...request(), number: last };
    },
    get idle() {
      return !waits && sent.size === 0;
    },
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
  return api;
};
