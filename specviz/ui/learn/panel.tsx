// The panel that shows a lesson. Each step opens a tab, shows a step of its run and highlights an
// element. The reader can use the whole page meanwhile; the panel remains open.

import { writeAddress } from "../shared/address";
import { LanguageSwitch, language, phrase } from "../shared/language";
import { onBodyClass } from "../shared/page";
import { remember } from "../shared/progress";
import { ring, ringUntilSettled } from "../shared/ring";
import { inline } from "../shared/sentence";
import { Stage } from "../shared/stage";
import { lesson as sharedLesson, moment } from "../shared/store";
import { hand, openTab } from "../shared/tabs";
import { required } from "../shared/required";
import { AwayButton, Button, classes, render, toElement } from "../shared/view";
import { startGain } from "./article/gain";
import { player, stepName } from "../step/state";
import { fetchAhead, openMoment } from "../step/runs";
import { AskTheClass } from "../step/class_vote";
import { isPresenting, PresentButton } from "../step/present";
import { stage as stepStage } from "../step/stage";
import { fetchLesson } from "./lesson";
import { PipelineFigure } from "./pipeline";
import { planAfter, startPlans } from "./plan";

import type { Start } from "../shared/section";
import type { LessonQuestion } from "../shared/store";
import type { LessonNotes } from "../step/present";
import type { Gain } from "./figures.py";
import type { Lesson, LessonStep, Paragraph, Place, Prediction } from "./lessons.py";
import type { PanelConfig } from "./plans.py";

const KEY = "lesson"; // in the page's address

const stage: Stage<PanelConfig> = new Stage();

/** folded: whether only the panel's head is shown, null for what the page's mode asks for; waits: whether the page is on its way to the step. */
const state = {
  lesson: null as Lesson | null,
  at: 0,
  answers: new Map<number, number>(),
  problem: "",
  folded: null as boolean | null,
  waits: false,
};

const SHOWN = -1; // the answer of a teacher who shows the right one without choosing any

const isFolded = () => state.folded ?? isPresenting();

export const start: Start<PanelConfig> = (element, props, _watch, _trigger, config) => {
  stage.set(element, props, config);
  language.on(translate);
  moment.on(() => state.lesson && !state.waits && paint());
  onBodyClass(() => state.lesson && paint()); // presenter mode begins or ends
  element.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
  });
  const observer = new ResizeObserver(makeRoom);
  for (const each of PARTS) observer.observe(stage.$(each));
  const linked = new URLSearchParams(location.search).get(KEY);
  if (linked) {
    const [id, at] = linked.split(".");
    open(id, Math.max(0, (Number(at) || 1) - 1));
  }
  startPlans({ place: stage.$(".sv-plan"), plans: config.plans, open, close });
  return {
    open,
    get shown() {
      return state.lesson && { id: state.lesson.id, at: state.at };
    },
  };
};

export async function open(id: string, at: number) {
  const lesson = await read(id);
  if (lesson) Object.assign(state, { lesson, answers: new Map() });
  if (!state.lesson) return paint();
  const opened = state.lesson;
  const shown = show(Math.min(at, opened.steps.length - 1));
  stage.find("[data-lesson=next]")?.focus({ preventScroll: true });
  await shown;
  if (state.lesson === opened) fetchRuns(opened);
}

// Fetch what the lesson's steps will show, so that they open at once.
async function fetchRuns({ steps }: Lesson) {
  const places = steps.flatMap(({ place, predict }) => [place, predict?.then]);
  const runs = places.flatMap((place) => (place ? [place.trace] : []));
  await stepStage.started;
  fetchAhead([...new Set(runs)]);
}

/** The lesson in the chosen language, or in English; null, and `problem` says why. */
async function read(id: string) {
  state.problem = "";
  try {
    const found = await fetchLesson(id, language.value);
    if (found.problem === undefined) return found;
    state.problem = found.problem;
  } catch {
    state.problem = phrase("silent");
  }
  return null;
}

// Show the open lesson in the chosen language, at the same step and with the same answers.
async function translate() {
  const { lesson } = state;
  const translated = lesson && (await read(lesson.id));
  if (translated && state.lesson === lesson) state.lesson = translated;
  share();
  paint();
}

const PARTS = [".sv-plan", ".sv-lesson", ".sv-vote-holder"];
let height = 0; // of all parts, which may be side by side, at the last layout
const card = new CSSStyleSheet(); // unlike a property of the body, it does not restyle all elements
document.adoptedStyleSheets.push(card);

// Lay out Step's run for the rest of the window.
function makeRoom() {
  const [plan, ...cards] = PARTS.map((each) => stage.$(each).getBoundingClientRect());
  const shown = cards.filter((each) => each.height);
  const bottom = Math.max(...shown.map((each) => each.bottom));
  const found = plan.height + (shown.length && bottom - Math.min(...shown.map((each) => each.top)));
  if (found === height) return;
  height = found;
  card.replaceSync(`.sv { --sv-card: ${height}px; }`);
  window.dispatchEvent(new Event("resize"));
}

function close() {
  Object.assign(state, { lesson: null, problem: "", waits: false });
  document.body.classList.remove("sv-lesson-waits");
  ring(null);
  write();
  paint();
}

const SLOW = 150; // ms after which the picture of the step before is dimmed

async function show(at: number) {
  const lesson = required(state.lesson);
  Object.assign(state, { at, folded: null, waits: true });
  setTimeout(() => document.body.classList.toggle("sv-lesson-waits", state.waits), SLOW);
  remember(lesson.id, at, lesson.steps.length);
  write();
  paint();
  stage.$(".sv-lesson").scrollTop = 0;
  const step = lesson.steps[at];
  await openTab(step.tab);
  if (step.sandbox) hand("sv-sand", step.sandbox);
  if (step.case) hand("gallery", { case: step.case });
  // The last step, which is the eighth value of the link to a tree; others stay.
  if (step.grown) hand("grow", { tree: ",,,,,,,500" });
  if (step.example) hand("rounding", { ranked: "example:" + step.example });
  const given = state.answers.get(at);
  if (given !== undefined && step.predict?.then) await move(step.predict.then);
  else if (step.place) await move(step.place);
  if (state.lesson !== lesson || state.at !== at) return;
  state.waits = false;
  document.body.classList.remove("sv-lesson-waits");
  paint();
  // What is handed to an instrument opens it, too; a click would answer for its former values.
  if (!step.example && !step.case && !step.grown) unfold(step);
  window.scrollTo(0, 0);
  ringUntilSettled(step.look);
}

// An instrument that is still folded opens as soon as it is there, since the step is about what is
// inside.
async function unfold(step: LessonStep) {
  const [part] = step.look.split(" "); // what is highlighted may be a figure in it
  while (part.startsWith("#sv-part-") && state.lesson?.steps[state.at] === step) {
    const button: HTMLElement | null = document.querySelector(
      `${part} .sv-instrument-fold > button`,
    );
    if (button) {
      if (!button.classList.contains("open")) button.click();
      return;
    }
    await new Promise((done) => setTimeout(done, 50));
  }
}

// Show a step of a run, as soon as the player has started.
async function move({ trace, round, step }: Place) {
  await stepStage.started;
  await openMoment({ run: trace, round, step });
}

// Write the lesson and its step into the address, so that a reload or a link opens the same step.
function write() {
  share();
  writeAddress({ [KEY]: state.lesson && `${state.lesson.id}.${state.at + 1}` });
}

async function answer(option: number) {
  const { predict } = required(state.lesson).steps[state.at];
  state.answers.set(state.at, option);
  share();
  paint();
  stage.find("[data-lesson=next]")?.focus({ preventScroll: true });
  const why = stage.find(".sv-lesson-why"); // a low panel scrolls by itself
  if (why) stage.$(".sv-lesson").scrollTop = why.offsetTop;
  if (predict?.then) await move(predict.then);
  // The answer makes the panel higher; keep the sentence about what happened in view.
  ringUntilSettled(predict?.then ? ".sv-caption" : required(state.lesson).steps[state.at].look);
}

function paint() {
  const section = stage.$(".sv-lesson");
  section.hidden = !state.lesson && !state.problem;
  const step = state.lesson?.steps[state.at];
  section.lang = language.value;
  section.setAttribute("aria-label", phrase("lesson"));
  const { classList } = document.body;
  classList.toggle("sv-in-lesson", !section.hidden);
  classList.toggle("sv-lesson-form", Boolean(step?.form));
  classList.toggle("sv-lesson-unstepped", Boolean(step && !step.form && !step.stepped));
  classList.toggle("sv-lesson-details", Boolean(step && !step.simple));
  classList.toggle("sv-lesson-simple", Boolean(step?.simple));
  document.body.dataset.hides = step && !state.answers.has(state.at) ? hidden(step) : "";
  section.classList.toggle("sv-lesson-folded", isFolded());
  section.classList.toggle("sv-lesson-known", state.answers.has(state.at));
  render(state.lesson ? LessonCard(state.lesson) : ProblemCard(), section);
}

/** The step on Step; null before there is a run. */
const shownStep = () => (player.rounds.length ? stepName(player.at.round, player.at.step) : null);

/** The parts that a step hides; without a question, they reappear when the reader moves on. */
const hidden = ({ hides = [], place, predict }: LessonStep) =>
  predict || !place || state.waits || shownStep()?.id === place.step ? hides.join(" ") : "";

function fold() {
  state.folded = !isFolded();
  paint();
}

const ProblemCard = () => [
  <p role="alert" key="problem">
    {state.problem}
  </p>,
  Button(phrase("close"), close, { class: "sv-button", key: "close" }),
];

function LessonCard(lesson: Lesson) {
  const { lang, steps } = lesson;
  const step = steps[state.at];
  const last = state.at + 1 === steps.length;
  return [
    <div class="sv-lesson-head" key="head">
      <span class="sv-lesson-name" lang={lang}>
        {nameOf(lesson)}
      </span>
      <span class="sv-lesson-at">{phrase("at", { at: state.at + 1, all: steps.length })}</span>
      <span role="status">{state.waits && phrase("opening")}</span>
      {lang === language.value ? (
        LanguageSwitch(lesson.languages)
      ) : (
        <p>{phrase("untranslated_lesson")}</p>
      )}
      <span class="sv-fill" />
      {(step.tab === "Step" || step.predict) && AskTheClass()}
      {PresentButton("sv-link")}
      {Button(FoldLabels(isFolded()), fold, {
        class: "sv-lesson-fold sv-link",
        "aria-expanded": !isFolded(),
      })}
      {AwayButton(phrase("leave"), close)}
    </div>,
    <div class="sv-lesson-body" key={`body ${lesson.id} ${state.at}`}>
      <div class="sv-lesson-text" role="status">
        <h2 lang={lang}>{step.title}</h2>
        {step.text.map((each) => Text(each, lang))}
        {step.attempt && (
          <p class="sv-lesson-try">
            <b>{phrase("attempt")}</b> <span lang={lang}>{inline(step.attempt)}</span>
          </p>
        )}
        {last && Sources(lesson)}
      </div>
      {Side(step, lang)}
    </div>,
    <div class="sv-lesson-go" key="go">
      {Navigation(lesson, step)}
    </div>,
  ];
}

// As wide as the wider one, so that a second click in the same place does not open a vote.
const FoldLabels = (folded: boolean) =>
  (["fold", "unfold"] as const).map((key) => (
    <span key={key} class={classes(folded === (key === "fold") && "sv-lesson-other")}>
      {phrase(key)}
    </span>
  ));

/** The lesson's number in the list, and its title. */
const nameOf = ({ id, title }: Lesson) => `${Number.parseInt(id, 10)} · ${title}`;

/** What is shown beside the text: a figure or a question. */
function Side(step: LessonStep, lang: string) {
  const { rounds, overlap, gain, predict } = step;
  if (!rounds && !gain && !predict) return null;
  return (
    <div class="sv-lesson-side">
      {gain && GainFigure(gain)}
      {rounds && (
        <div lang="en">
          {PipelineFigure(
            rounds,
            player.rounds[player.at.round]?.number,
            shownStep()?.kind ?? "",
            player.run,
            overlap,
          )}
        </div>
      )}
      {predict && Question(predict, step, lang)}
    </div>
  );
}

const GainFigure = (gain: Gain) => (
  <div
    class="gain"
    lang="en"
    ref={(element) => {
      if (element && !element.firstChild) startGain(element, gain, false);
    }}
  />
);

function Navigation(lesson: Lesson, { predict }: LessonStep) {
  const { steps } = lesson;
  const { at } = state;
  const last = at + 1 === steps.length;
  const waits = predict && !state.answers.has(at);
  // The phones of a class have the question; what skips it shows their answers.
  if (waits && document.body.classList.contains("sv-in-vote"))
    return [BackButton(at), NextButton(phrase("show_answer"), () => answer(SHOWN))];
  const planned = waits ? null : planAfter(lesson.id, at + 1, steps.length);
  if (planned)
    return [
      !last && Button(phrase("next"), () => show(at + 1), { class: "sv-button" }),
      BackButton(at),
      NextButton(planned.label, planned.go, "sv-lesson-main"),
    ];
  return [
    last && lesson.next && Button(phrase("done"), finish, { class: "sv-button" }),
    BackButton(at),
    NextButton(
      phrase(waits ? "skip" : !last ? "next" : lesson.next ? "next_lesson" : "done"),
      () => (!last ? show(at + 1) : lesson.next ? open(lesson.next, 0) : finish()),
      waits ? "" : "sv-lesson-main",
    ),
  ];
}

const BackButton = (at: number) =>
  Button(phrase("back"), () => show(at - 1), { class: "sv-button", disabled: at === 0 });

const NextButton = (label: string, onClick: () => void, look = "") =>
  Button(label, onClick, { class: classes("sv-button", look), "data-lesson": "next" });

async function finish() {
  close();
  await openTab("Learn");
  window.scrollTo(0, 0);
}

function Question(
  { ask: sentence, options, answer: right, why }: Prediction,
  step: LessonStep,
  lang: string,
) {
  const given = state.answers.get(state.at);
  const known = given !== undefined;
  return (
    <div class="sv-lesson-ask" role="group" aria-label={phrase("prediction")}>
      {Text(sentence, lang)}
      {!known && step.hides && <p class="sv-lesson-hides">{phrase("hides")}</p>}
      {options.map(
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
              lang,
              "aria-pressed": known ? index === given : undefined,
            },
          ),
      )}
      {known && (
        <div class="sv-lesson-why" role="status">
          {given !== SHOWN && <b>{phrase(given === right ? "right" : "wrong")} </b>}
          {why.map((each) => Text(each, lang))}
        </div>
      )}
    </div>
  );
}

const Sources = ({ sources }: Lesson) =>
  sources.length > 0 && (
    <p class="sv-lesson-sources">
      {phrase("sources")}{" "}
      <span lang="en">{sources.map((source, index) => [index ? " · " : "", inline(source)])}</span>
    </p>
  );

const Text = (paragraph: Paragraph, lang: string) => (
  <p lang={lang}>{inline(paragraph, namesOf)}</p>
);

/** What the speaker of the lesson needs. */
function speakerNotes(lesson: Lesson, at: number): LessonNotes {
  const { title, notes, predict } = lesson.steps[at];
  return {
    name: nameOf(lesson),
    title,
    at,
    steps: lesson.steps.length,
    notes,
    answer: predict ? predict.options[predict.answer] : null,
    next: lesson.steps[at + 1]?.title ?? "",
  };
}

// Without its frame, a token such as "?" needs quotation marks.
function plainText(paragraph: Paragraph) {
  const text = toElement(<p>{inline(paragraph)}</p>);
  for (const token of text.querySelectorAll(".sv-token")) token.prepend("“");
  for (const token of text.querySelectorAll(".sv-token")) token.append("”");
  return text.textContent ?? "";
}

// Tokens of a run are read aloud as English also inside a translated sentence.
const namesOf = (name: string) => (name.startsWith("word ") ? { lang: "en" } : {});

/** Go on or back in the lesson. */
function turn(by: number) {
  if (state.lesson?.steps[state.at + by]) show(state.at + by);
}

function share() {
  const { lesson, at } = state;
  sharedLesson.set(
    lesson && {
      id: lesson.id,
      notes: speakerNotes(lesson, at),
      look: lesson.steps[at].look,
      question: sharedQuestion(lesson, at),
      turn,
    },
  );
}

/** The question of a step, as text for the phones of a class. */
function sharedQuestion({ steps }: Lesson, at: number): LessonQuestion | null {
  const { predict } = steps[at];
  if (!predict) return null;
  const { ask, options, answer: right } = predict;
  return {
    ask: plainText(ask),
    options: options.map(plainText),
    answer: right,
    known: state.answers.has(at),
  };
}
