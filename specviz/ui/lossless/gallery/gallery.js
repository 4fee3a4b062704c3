// Set-up of the gallery, and the API that other sections use: `window.specviz.wild`.

import { Question } from "../../shared/ask.js";
import { nextCase, showCase } from "./detective.js";
import { exhibits, showAll } from "./show.js";
import { $, stage } from "./stage.js";

/** @import { Refusal, Start, Word } from "../../shared/data.js" */
/** @import { Answer, Config } from "./data.js" */

const SILENT = "The server does not answer. Try again.";
/** @type {Question<Answer>} */
const question = new Question("gallery", () => tell(SILENT));
/** @type {object} */
let asked = { asked: "list" };
/** @type {Word[] | null} */
let over = null; // the sandbox's words, if its p and q are used

/** @param {string} sentence */
function tell(sentence) {
  $(".sv-wild-notice").textContent = sentence;
  $(".sv-wild-notice").hidden = !sentence;
}

/** @param {object} what */
function ask(what) {
  asked = what;
  question.ask();
}

/** @param {Answer | Refusal} answer @param {object} request */
function show(answer, request) {
  if (request !== asked) return; // the mode or the case has changed meanwhile
  tell(answer.problem || "");
  if (answer.problem !== undefined) return;
  if (answer.exhibits) showAll(answer.exhibits, over || stage.config.words);
  if (answer.evidence) showCase(answer.evidence);
}

/** @param {string} mode */
function turn(mode) {
  const detective = mode === "detective";
  for (const button of stage.all("[data-mode]"))
    button.setAttribute("aria-pressed", String(button.dataset.mode === mode));
  $(".sv-wild-list").hidden = detective;
  $(".sv-wild-options").hidden = !detective;
  $("[data-do=laws]").hidden = detective;
  $(".sv-wild-on").hidden = detective;
  if (!exhibits.length) return;
  if (!detective) return ask({ asked: "list" });
  $(".sv-wild-on").textContent = "";
  $(".sv-wild-options").replaceChildren(); // those of an earlier case
  over = null;
  ask({ asked: "evidence", key: nextCase() });
}

function onLaws() {
  const { sandbox } = window.specviz;
  if (!sandbox) return;
  const { state } = /** @type {{ state: { words: Word[], p: number[], q: number[] } }} */ (sandbox);
  over = state.words;
  $(".sv-wild-on").textContent = "Computed with the sandbox’s p and q.";
  ask({ asked: "list", p: state.p, q: state.q });
}

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  question.wire(() => asked, show);
  window.specviz.wild = {
    request: () => asked,
    get exhibits() {
      return exhibits;
    },
  };
  element.addEventListener("click", (event) => {
    const button = event.target instanceof Element && event.target.closest("button");
    if (!button) return;
    if (button.dataset.mode) turn(button.dataset.mode);
    else if (button.dataset.do === "laws") onLaws();
    else if (button.dataset.do === "case") ask({ asked: "evidence", key: nextCase() });
  });
  ask({ asked: "list" });
}
