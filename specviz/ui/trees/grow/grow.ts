// The growing tree: its events, and the parts that show its state.

import { Question } from "../../shared/ask";
import { byId } from "../../shared/dom";
import { markWidth, onTheme } from "../../shared/page";
import { pictures } from "../../shared/picture";
import { expect } from "../../shared/tabs";
import { required } from "../../shared/required";
import { render } from "../../shared/view";
import { Options } from "../shared/options";
import { AttentionMask } from "./attention_mask";
import { showControls, startControls } from "./controls";
import { AcceptedLengths, showWorth, TreeFormats } from "./gains";
import { follow, showGrowingTree, startDragging, wholeTree } from "./growing_tree";
import { fillLive, fromLink, keepLink } from "./link";
import { job, onPosition, wanted } from "./live";
import { ContextText, SelectedGuess } from "./selected_guess";
import { $, look, onChange, ranked, stage, state, view } from "./state";
import { Legend, ShownSwitch, StepCaption, StepDock, ZoomButtons } from "./steps";

import type { Start } from "../../shared/section";
import type { Answer } from "./answer.py";
import type { Config } from "./__init__.py";

const question: Question<Answer> = new Question("grow", fault);
let keep = () => {}; // updates the page's address
let grown = false; // whether the next tree is shown fully grown
let keptStep = -1; // the step in that address

/** Show the state in all parts of the section. */
function draw() {
  showControls();
  $(".sv-grow-notice").textContent = view.notice;
  $(".sv-grow-notice").hidden = !view.notice;
  if (!view.answer) return;
  const { target, drafter, machine } = view.answer.origin;
  const kind = view.live ? "live" : "recorded";
  $(".sv-grow-source").textContent = `${kind} · ${drafter} drafts for ${target} · ${machine}`;
  $(".sv-grow-source").dataset.source = kind;
  showGrowingTree();
  if (view.at !== keptStep) {
    keptStep = view.at;
    keep();
  }
  $(".sv-grow-later").hidden = ranked();
  $(".sv-grow-mask").hidden = !ranked();
  if (ranked()) render(AttentionMask(), $(".sv-grow-mask"));
  $(".sv-grow-hint").hidden = view.picked >= 0;
  const parts = {
    text: ContextText,
    say: StepCaption,
    dock: StepDock,
    switch: ShownSwitch,
    zoom: ZoomButtons,
    one: SelectedGuess,
    "lengths tbody": AcceptedLengths,
    "lists dl": TreeFormats,
  };
  for (const [place, part] of Object.entries(parts)) render(part(), $(".sv-grow-" + place));
}

/** @param notice "" is replaced by the answer's notes. */
function fault(notice: string) {
  stage.element.classList.toggle("sv-grow-faulty", notice !== "");
  if (notice) look({ notice });
}

function show(found: Answer) {
  const last = found.steps.length - 1;
  const atEnd = grown || (view.answer !== null && view.at >= view.answer.steps.length - 1);
  grown = false;
  look({
    notice: found.notes.join(" "),
    answer: found,
    at: atEnd ? last : Math.min(Math.max(view.at, 0), last),
    picked: Math.min(view.picked, found.nodes.length - 1),
  });
  follow();
  keep();
  showWorth();
}

const ask = () => question.ask();

/** The tree on screen, for a picture. */
function about() {
  const { places, kinds } = stage.config;
  const titleIn = (pairs: [string, string][], name: string) =>
    pairs.find(([each]) => each === name)?.[1];
  const place = titleIn(view.own ? [view.own, ...places] : places, state.place);
  const steps = `step ${view.at + 1} of ${view.answer?.steps.length}`;
  const source = $(".sv-grow-source").textContent;
  return {
    file: view.live ? "live" : state.place,
    facts: [place, titleIn(kinds, state.kind), steps, source],
  };
}

export const start: Start<Config> = (element, props, _watch, trigger, config) => {
  stage.set(element, props, config);
  question.wire(() => state, show);
  const api = {
    ...job.verbs,
    get live() {
      return wanted();
    },
    question,
    get state() {
      return structuredClone(state);
    },
    get view() {
      return view;
    },
  };
  markWidth($(".sv-grow"));
  state.place = config.places[0][0];
  fromLink();
  onChange(draw);
  onPosition((place, title) => {
    trigger(config.event, { place, title });
    ask();
  });
  startControls(ask);
  startDragging();
  render(Legend(), $(".sv-grow-keys"));
  const redraw = () => view.answer && showWorth();
  onTheme(redraw);
  new ResizeObserver(redraw).observe($(".sv-grow-figure"));
  const saved = pictures(about, [
    ["draft tree", () => [$(".sv-grow-keys"), wholeTree()]],
    ["attention mask", () => $(".sv-grow-mask")],
    ["accepted lengths", () => $(".sv-grow-lengths")],
    [
      "gain and cost",
      () => [".sv-grow-figure", "#sv-grow-key", "#sv-grow-paid"].map((part) => $(part)),
    ],
  ]);
  $(".sv-grow-below").after(saved);
  startLive(config);
  job.resume();
  startCoins();
  keep = keepLink();
  ask();
  expect("sv-grow", showGrown);
  return api;
};

// Show the last step, or if there is no tree yet, show it once the tree has arrived.
function showGrown() {
  if (view.answer) look({ at: view.answer.steps.length - 1 });
  else grown = true;
}

function startLive({ drafters, prompt, most }: Config) {
  render(Options(drafters, drafters[0][0]), $("#sv-grow-drafter"));
  const text: HTMLInputElement = $("#sv-grow-prompt");
  text.value = prompt;
  fillLive();
  $("#sv-grow-skip").setAttribute("max", String(most.skip));
  $(".sv-grow-liveform").addEventListener("submit", (event) => {
    event.preventDefault();
    required(byId("sv-grow-go")).click();
  });
  $("[data-do=stop]").addEventListener("click", () => job.stop());
  $(".sv-grow-asked").addEventListener("submit", (event) => event.preventDefault());
}

function startCoins() {
  $("[data-do=throw]").addEventListener("click", () => {
    state.seed += 1;
    ask();
  });
  const cold: HTMLInputElement = $(".sv-grow-cold");
  cold.checked = state.cold;
  cold.addEventListener("change", () => {
    state.cold = cold.checked;
    ask();
  });
}
