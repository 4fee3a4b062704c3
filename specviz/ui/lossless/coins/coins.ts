// Run the sandbox's experiment many times with random numbers, and animate the columns.

import { Question } from "../../shared/ask";
import { pictures } from "../../shared/picture";
import { Stage } from "../../shared/stage";
import { required } from "../../shared/required";
import { Button, render } from "../../shared/view";
import { OutputColumns, WordRow } from "../../shared/output_columns";
import { onAnswer } from "../sandbox/sandbox";
import { state, request as experiment } from "../sandbox/state";
import { Dartboard } from "./dartboard";

import type { Start } from "../../shared/section";
import type { Answer } from "./answer.py";
import type { Config } from "./__init__.py";

const PAUSE = 45; // milliseconds per animation step
const stage: Stage<Config> = new Stage();
const { $ } = stage;
const fault = (sentence: string) => render(sentence, $(".sv-coins-notice"));
const question: Question<Answer> = new Question("coins", fault);
let throws = 0; // rounds of the next question; 0 asks only for the dartboard
let shown: Answer | null = null; // the counts, as long as they belong to the sandbox's current state
let board: Answer["darts"] = null; // likewise
let preset = ""; // of the sandbox, at its last answer
let chosen = false; // whether a preset that is about the dartboard has just been chosen
let step = 0; // step of the animation
let timer = 0;

const request = () => ({ ...experiment(), throws });

function show() {
  const { words } = state;
  render(board && Dartboard(board, words), $(".sv-coins-board"));
  $(".sv-coins-body").hidden = !shown;
  $(".sv-pictures").hidden = !shown && !board;
  // The verdict is about all rounds, so it appears with the last; its space is reserved from the
  // start.
  $(".sv-coins-body").classList.toggle("sv-coins-counting", !!shown && !isLast(shown));
  render(shown && shown.steps[step].thrown.toLocaleString("en") + " rounds", $(".sv-coins-count"));
  if (!shown) return;
  render(CoinTally(shown, step), $(".sv-coins-stage"));
  render(shown.sentence, $(".sv-coins-said"));
  for (const place of stage.all("[data-number]"))
    render(shown.numbers[required(place.dataset.number)], place);
}

const isLast = ({ steps }: Answer) => step === steps.length - 1;

function CoinTally({ steps, intervals }: Answer, at: number) {
  const { words, p } = state;
  const { thrown, kept, filled } = steps[at];
  const shares = (counts: number[]) => counts.map((count) => count / thrown);
  const columns = OutputColumns({
    words,
    p,
    parts: [
      ["sv-sand-kept", shares(kept)],
      ["sv-sand-filled", shares(filled)],
    ],
    intervals: at === steps.length - 1 ? intervals : [],
    name: "sv-coins-columns",
  });
  return [columns, WordRow(words, "sv-coins-words")];
}

function animate() {
  show();
  if (!shown || isLast(shown)) return;
  timer = window.setTimeout(() => {
    step += 1;
    animate();
  }, PAUSE);
}

function receive(answer: Answer) {
  clearTimeout(timer);
  board = answer.darts;
  if (!answer.steps.length) {
    show();
    // A lesson scrolls to what it is about.
    if (chosen && !document.body.classList.contains("sv-in-lesson"))
      $(".sv-coins-board").scrollIntoView({ block: "nearest" });
    chosen = false;
    return;
  }
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  shown = answer;
  step = calm ? answer.steps.length - 1 : 0;
  animate();
}

// The sandbox has changed, so the counts no longer belong to it. The dartboard needs no rounds.
function clear() {
  clearTimeout(timer);
  [shown, board] = [null, null];
  fault("");
  show();
  const before = preset;
  const { rule, preset: now } = state;
  preset = now;
  if (rule !== stage.config.darts) return;
  chosen = now !== "" && now !== before;
  throws = 0;
  question.ask();
}

/** The experiment, for a picture. */
function about() {
  const { rule, drawn, candidates } = state;
  const rounds = shown && shown.steps[step].thrown.toLocaleString("en") + " random rounds";
  const guesses = candidates + (candidates === 1 ? " guess, " : " guesses, ") + drawn;
  return { file: "rule-" + rule, facts: [rounds, guesses, "rule: " + rule] };
}

const RunButton = (rounds: number) => {
  const run = () => {
    throws = rounds;
    question.ask();
  };
  return Button("Run " + rounds.toLocaleString("en") + " rounds", run, { class: "sv-button" });
};

export const start: Start<Config> = (element, props, _watch, _trigger, config) => {
  stage.set(element, props, config);
  question.wire(request, receive);
  render(config.throws.map(RunButton), $(".sv-coins-buttons"));
  const saved = pictures(about, [
    ["random rounds", () => $(".sv-coins-stage")],
    ["dartboard", () => $(".sv-coins-board")],
  ]);
  saved.hidden = true;
  $(".sv-coins-board").after(saved);
  onAnswer(clear);
};
