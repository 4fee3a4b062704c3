// Run the sandbox's experiment many times with random numbers, and animate the columns.

import { Question } from "../../shared/ask.js";
import { pictures } from "../../shared/picture.js";
import { Stage } from "../../shared/stage.js";
import { there } from "../../shared/there.js";
import { Button, render } from "../../shared/view.js";
import { OutputColumns, WordRow } from "../shared/output_columns.js";
import { Dartboard } from "./dartboard.js";

/** @import { Start } from "../../shared/section.js" */
/** @import { Sandbox } from "../sandbox/state.js" */
/** @import { Answer } from "./answer.py" */
/** @import { Config } from "./__init__.py" */

const PAUSE = 45; // milliseconds per animation step
/** @type {Stage<Config>} */
const stage = new Stage();
const { $ } = stage;
/** @param {string} sentence */
const fault = (sentence) => render(sentence, $(".sv-coins-notice"));
/** @type {Question<Answer>} */
const question = new Question("coins", fault);
let throws = 0; // rounds of the next question; 0 asks only for the dartboard
/** @type {Answer | null} */
let shown = null; // the counts, as long as they belong to the sandbox's current state
/** @type {Answer["darts"]} */
let board = null; // likewise
let preset = ""; // of the sandbox, at its last answer
let chosen = false; // whether a preset that is about the dartboard has just been chosen
let step = 0; // step of the animation
let timer = 0;

const sandbox = () => /** @type {Sandbox} */ (there(window.specviz.sandbox));
const request = () => ({ ...sandbox().request(), throws });

function show() {
  const { words } = sandbox().state;
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
    render(shown.numbers[there(place.dataset.number)], place);
}

/** @param {Answer} answer */
const isLast = ({ steps }) => step === steps.length - 1;

/** @param {Answer} answer @param {number} at */
function CoinTally({ steps, intervals }, at) {
  const { words, p } = sandbox().state;
  const { thrown, kept, filled } = steps[at];
  /** @param {number[]} counts */
  const shares = (counts) => counts.map((count) => count / thrown);
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

/** @param {Answer} answer */
function receive(answer) {
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
  const { rule, preset: now } = sandbox().state;
  preset = now;
  if (rule !== stage.config.darts) return;
  chosen = now !== "" && now !== before;
  throws = 0;
  question.ask();
}

/** The experiment, for a picture. */
function about() {
  const { rule, drawn, candidates } = sandbox().state;
  const rounds = shown && shown.steps[step].thrown.toLocaleString("en") + " random rounds";
  const guesses = candidates + (candidates === 1 ? " guess, " : " guesses, ") + drawn;
  return { file: "rule-" + rule, facts: [rounds, guesses, "rule: " + rule] };
}

/** @param {number} rounds */
const RunButton = (rounds) => {
  const run = () => {
    throws = rounds;
    question.ask();
  };
  return Button("Run " + rounds.toLocaleString("en") + " rounds", run, { class: "sv-button" });
};

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  question.wire(request, receive);
  window.specviz.coins = { request };
  render(config.throws.map(RunButton), $(".sv-coins-buttons"));
  const saved = pictures(about, [
    ["random rounds", () => $(".sv-coins-stage")],
    ["dartboard", () => $(".sv-coins-board")],
  ]);
  saved.hidden = true;
  $(".sv-coins-board").after(saved);
  const wait = () => {
    if (!window.specviz.sandbox) return setTimeout(wait, 50);
    sandbox().onAnswer(clear);
    return sandbox().last && clear(); // the sandbox may have answered before
  };
  wait();
}
