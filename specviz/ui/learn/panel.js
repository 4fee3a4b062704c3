// The panel that leads through a lesson. Each step opens a tab, moves its run to a step and rings
// what it is about. The reader may do anything else meanwhile; the panel stays.

import { ask } from "../shared/ask.js";
import { page } from "../shared/page.js";
import { ring, ringUntilSettled } from "../shared/ring.js";
import { sentencePart } from "../shared/sentence.js";
import { Stage } from "../shared/stage.js";
import { hand, openTab } from "../shared/tabs.js";
import { there } from "../shared/there.js";
import { Button, classes, h, render } from "../shared/view.js";
import { PipelineFigure } from "./pipeline.js";
import { remember } from "./progress.js";

/** @import { Start } from "../shared/section.js" */
/** @import { Inline, Lesson, LessonStep, Paragraph, Place, Prediction } from "./lessons.py" */

/**
 * What is used of Step's player.
 * @typedef {object} Player
 * @property {(run: string, link: { round: number, step: string }) => Promise<void>} open
 * @property {number[]} numbers Of its rounds.
 * @property {{ round: number, step: number }} cursor
 * @property {{ step: { kind: string } } | null} frame
 */

const KEY = "lesson"; // in the page's address

/** @type {Stage<object>} */
const stage = new Stage();

/** @type {{ lesson: Lesson | null, at: number, answers: Map<number, number>, problem: string }} */
const state = { lesson: null, at: 0, answers: new Map(), problem: "" };

// Step's player; nothing while it is not up.
/** @returns {Player | undefined} */
const player = () => /** @type {Player[]} */ (Object.values(page("players")))[0];

/** @type {Start<object>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  window.addEventListener("sv-lesson", ({ detail }) => open(detail.id, detail.at));
  window.addEventListener("sv-moment", () => state.lesson && paint());
  element.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
  });
  const linked = new URLSearchParams(location.search).get(KEY);
  if (linked) {
    const [id, at] = linked.split(".");
    open(id, Math.max(0, (Number(at) || 1) - 1));
  }
}

/** @param {string} id @param {number} at */
async function open(id, at) {
  state.problem = "";
  try {
    /** @type {import("../shared/ask.js").Reply<Lesson>} */
    const answer = await ask("lesson", { lesson: id });
    if (answer.problem !== undefined) state.problem = answer.problem;
    else Object.assign(state, { lesson: answer, answers: new Map() });
  } catch {
    state.problem = "The server does not answer, so the lesson cannot be opened.";
  }
  if (!state.lesson) return paint();
  const shown = show(Math.min(at, state.lesson.steps.length - 1));
  stage.find("[data-lesson=next]")?.focus({ preventScroll: true });
  return shown;
}

function close() {
  Object.assign(state, { lesson: null, problem: "" });
  ring(null);
  write();
  paint();
}

/** @param {number} at */
async function show(at) {
  const lesson = there(state.lesson);
  state.at = at;
  remember(lesson.id, at, lesson.steps.length);
  write();
  paint();
  const step = lesson.steps[at];
  await openTab(step.tab);
  if (step.sandbox) hand("sv-sand", step.sandbox);
  const given = state.answers.get(at);
  if (given !== undefined && step.predict?.then) await move(step.predict.then);
  else if (step.place) await move(step.place);
  if (state.lesson === lesson && state.at === at) ringUntilSettled(step.look);
}

/** @param {Place} place */
const move = ({ trace, round, step }) => player()?.open(trace, { round, step });

// The lesson and its step in the address, so that a reload or a link comes back to it.
function write() {
  const url = new URL(location.href);
  if (state.lesson) url.searchParams.set(KEY, `${state.lesson.id}.${state.at + 1}`);
  else url.searchParams.delete(KEY);
  if (url.href !== location.href) history.replaceState(history.state, "", url);
}

/** @param {number} option */
async function answer(option) {
  const { predict } = there(state.lesson).steps[state.at];
  state.answers.set(state.at, option);
  paint();
  stage.find("[data-lesson=next]")?.focus({ preventScroll: true });
  if (predict?.then) await move(predict.then);
  // The answer has made the panel higher; the sentence about what happened stays in sight.
  ringUntilSettled(predict?.then ? ".sv-caption" : there(state.lesson).steps[state.at].look);
}

function paint() {
  const section = stage.$(".sv-lesson");
  section.hidden = !state.lesson && !state.problem;
  document.body.classList.toggle("sv-in-lesson", !section.hidden);
  render(state.lesson ? LessonCard(state.lesson) : ProblemCard(), section);
}

const ProblemCard = () => [
  h("p", { role: "alert", key: "problem" }, state.problem),
  Button("Close", close, { class: "sv-button", key: "close" }),
];

/** @param {Lesson} lesson */
function LessonCard(lesson) {
  const step = lesson.steps[state.at];
  const last = state.at + 1 === lesson.steps.length;
  return [
    h(
      "div",
      { class: "sv-lesson-head", key: "head" },
      h("span", { class: "sv-lesson-name" }, lesson.title),
      h("span", { class: "sv-lesson-at" }, `${state.at + 1} of ${lesson.steps.length}`),
      Button("×", close, {
        class: "sv-away",
        "aria-label": "Leave the lesson",
        title: "Leave the lesson",
      }),
    ),
    h(
      "div",
      { class: "sv-lesson-body", key: `body ${lesson.id} ${state.at}` },
      h(
        "div",
        { class: "sv-lesson-text", role: "status" },
        h("h2", null, step.title),
        step.text.map(Text),
        step.attempt &&
          h("p", { class: "sv-lesson-try" }, h("b", null, "Try it: "), inline(step.attempt)),
        last && Sources(lesson),
      ),
      Side(step),
    ),
    h("div", { class: "sv-lesson-go", key: "go" }, ...Navigation(lesson, step)),
  ];
}

// The number of the round on screen, and what kind of step is shown.
/** @returns {[round: number | undefined, kind: string]} */
function moment() {
  const { numbers = [], cursor, frame } = player() ?? {};
  return [cursor && numbers[cursor.round], frame?.step.kind ?? ""];
}

/** What is beside the text: a figure, a question. @param {LessonStep} step */
function Side({ rounds, predict }) {
  if (!rounds && !predict) return null;
  return h(
    "div",
    { class: "sv-lesson-side" },
    rounds && PipelineFigure(rounds, ...moment()),
    predict && Question(predict),
  );
}

/** @param {Lesson} lesson @param {LessonStep} step */
function Navigation(lesson, { predict }) {
  const { steps } = lesson;
  const { at } = state;
  const last = at + 1 === steps.length;
  const waits = predict && !state.answers.has(at);
  return [
    last &&
      lesson.next &&
      Button("Next lesson", () => open(lesson.next, 0), { class: "sv-button" }),
    Button("Back", () => show(at - 1), { class: "sv-button", disabled: at === 0 }),
    Button(
      last ? "Done" : waits ? "Skip the question" : "Next",
      () => (last ? finish() : show(at + 1)),
      {
        class: classes("sv-button", !waits && "sv-lesson-main"),
        "data-lesson": "next",
      },
    ),
  ];
}

async function finish() {
  close();
  await openTab("Learn");
  window.scrollTo(0, 0);
}

/** @param {Prediction} predict */
function Question({ ask: sentence, options, answer: right, why }) {
  const given = state.answers.get(state.at);
  const known = given !== undefined;
  return h(
    "div",
    { class: "sv-lesson-ask", role: "group", "aria-label": "Your prediction" },
    h("p", null, inline(sentence)),
    options.map(
      (option, index) =>
        (!known || index === right || index === given) &&
        Button(
          [
            inline(option),
            known && index === right && " ✓",
            known && index === given && index !== right && " ✕",
          ],
          () => answer(index),
          {
            class: classes(
              "sv-lesson-option",
              known && index === right && "sv-right",
              known && index === given && index !== right && "sv-wrong",
            ),
            disabled: known,
            "aria-pressed": known ? index === given : undefined,
          },
        ),
    ),
    known &&
      h(
        "div",
        { class: "sv-lesson-why", role: "status" },
        h("b", null, given === right ? "Right. " : "Not this time. "),
        why.map(Text),
      ),
  );
}

/** @param {Lesson} lesson */
const Sources = ({ sources }) =>
  sources.length > 0 &&
  h(
    "p",
    { class: "sv-lesson-sources" },
    "Sources: ",
    sources.map((source, index) => [index ? " · " : "", inline(source)]),
  );

/** @param {Paragraph} paragraph */
const Text = (paragraph) => h("p", null, inline(paragraph));

/** @param {Paragraph} paragraph */
const inline = (paragraph) => paragraph.map(Piece);

/** @param {Inline} piece */
function Piece(piece) {
  if (typeof piece === "string") return piece;
  if ("b" in piece) return h("b", null, piece.b);
  if ("i" in piece) return h("i", null, piece.i);
  if ("a" in piece) return h("a", { href: piece.href, target: "_blank", rel: "noopener" }, piece.a);
  return sentencePart(piece);
}

window.specviz.lesson = {
  get shown() {
    return state.lesson && { id: state.lesson.id, at: state.at };
  },
};
