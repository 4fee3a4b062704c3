// The gallery of published rules.

import { Question } from "../../shared/ask";
import { pictures } from "../../shared/picture";
import { Stage } from "../../shared/stage";
import { expect } from "../../shared/tabs";
import { Button, render } from "../../shared/view";
import { state as sandbox } from "../sandbox/state";
import { isSolved, nextCase, Quiz } from "./find_the_fault";
import { Badge, CaseEvidence, GalleryCase } from "./gallery_case";

import type { Word } from "../../../frames/scene.py";
import type { Start } from "../../shared/section";
import type { Answer, CaseData, Evidence } from "./answer.py";
import type { Config } from "./__init__.py";

const stage: Stage<Config> = new Stage();
const { $ } = stage;
const fault = (sentence: string) => render(sentence, $(".sv-wild-notice"));
const question: Question<Answer> = new Question("gallery", fault);
let request: object = {};
let asked: Word[] = []; // the words of the question's p and q

/** own: the rules with their own p and q. studies, words: as shown, possibly with the sandbox's. */
const state = {
  own: [] as CaseData[],
  studies: [] as CaseData[],
  words: [] as Word[],
  open: "", // the key of the study in the list
  quizzes: false, // whether the quiz "Find the fault" is shown
  key: "", // of the quiz's case
  evidence: null as Evidence | null, // statistics of the quiz's case
  borrows: false, // whether the sandbox's p and q are used
};

function show() {
  const { studies, quizzes } = state;
  render(Modes(), $(".sv-wild-do"));
  $(".sv-wild-wait").hidden = studies.length > 0;
  $(".sv-wild-body").hidden = $(".sv-pictures").hidden = !studies.length;
  if (!studies.length) return;
  render(quizzes ? null : studies.map(Entry), $(".sv-wild-list"));
  $(".sv-wild-list").hidden = quizzes;
  $(".sv-wild-options").hidden = !quizzes;
  render(state.evidence && Quiz(studies, { chosen: show, next: askCase }), $(".sv-wild-options"));
  render(Article(), $(".sv-wild-one"));
}

function Modes() {
  const { quizzes, borrows } = state;
  const mode = (title: string, mode: string, on: boolean) =>
    Button(title, () => turn(on), { "data-mode": mode, "aria-pressed": quizzes === on });
  const modes = [mode("Gallery", "gallery", false), mode("Find the fault", "detective", true)];
  return [
    <div class="sv-sand-switch" role="group" aria-label="Mode">
      {modes}
    </div>,
    Button("Test all with the sandbox’s p and q", borrow, {
      class: "sv-button",
      "data-do": "laws",
      hidden: quizzes,
    }),
    <span class="sv-wild-on" hidden={quizzes}>
      {borrows ? "Computed with the sandbox’s p and q." : ""}
    </span>,
  ];
}

function Entry(study: CaseData) {
  const open = () => {
    state.open = study.key;
    show();
    // On narrow screens, the details are below the list.
    if (matchMedia("(max-width: 1100px)").matches) $(".sv-wild-one").scrollIntoView();
  };
  const label = [Badge(study), <span>{study.name}</span>, <b>{study.tv}</b>];
  const attributes = { "data-key": study.key, "aria-current": study === openStudy() };
  return <li key={study.key}>{Button(label, open, attributes)}</li>;
}

const openStudy = () => state.studies.find(({ key }) => key === state.open) ?? state.studies[0];

function Article() {
  const { evidence, studies, words } = state;
  if (!evidence) return GalleryCase(openStudy(), words);
  const solved = isSolved() && studies.find(({ key }) => key === state.key);
  return solved ? GalleryCase(solved, words) : CaseEvidence(evidence, words);
}

/** @param words The words of p and q. */
function ask(next: object, words: Word[]) {
  [request, asked] = [next, words];
  question.ask();
}

function askCase() {
  state.key = nextCase(state.studies);
  ask({ asked: "evidence", key: state.key }, stage.config.words);
}

function turn(quizzes: boolean) {
  const { own } = state,
    { words } = stage.config;
  Object.assign(state, { quizzes, evidence: null, borrows: false, studies: own, words });
  show();
  if (!own.length) return;
  [request, asked] = [{ asked: "list" }, words]; // an answer under way is not shown
  if (quizzes) askCase();
}

function borrow() {
  const { p, q, words } = sandbox;
  if (!words.length || !state.own.length) return;
  state.borrows = true;
  show();
  ask({ asked: "list", p, q }, words);
}

/** What is on screen, for a picture; the quiz does not tell the rule before the answer. */
function about() {
  const { quizzes, borrows, key, studies } = state;
  const known = quizzes ? isSolved() && studies.find((study) => study.key === key) : openStudy();
  return {
    file: known ? "rule-" + known.key : "find-the-fault",
    facts: ["computed exactly", borrows && "with p and q of the sandbox"],
  };
}

/** @param of The question. */
function receive({ exhibits, evidence }: Answer, of: object) {
  if (of !== request) return; // the mode or the case has changed since the question was sent
  if (exhibits) {
    Object.assign(state, { studies: exhibits, words: asked });
    if (!state.borrows) state.own = exhibits;
  }
  if (evidence) state.evidence = evidence;
  show();
  if (exhibits && state.quizzes) askCase();
}

/** Opens a case for another part of the page, when the list has arrived. */
function openCase({ case: key }: { case: string }) {
  state.open = key;
  if (state.quizzes || state.borrows) turn(false);
  else show();
}

export const start: Start<Config> = (element, props, _watch, _trigger, config) => {
  stage.set(element, props, config);
  question.wire(() => request, receive);
  $(".sv-wild-body").after(pictures(about, [["published rule", () => $(".sv-wild-one")]]));
  show();
  ask({ asked: "list" }, config.words);
  expect("sv-wild", openCase);
};
