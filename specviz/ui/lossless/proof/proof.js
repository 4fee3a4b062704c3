// The verdicts of a recorded run, and the API for other sections: `window.specviz.proof`.

import { Question } from "../../shared/ask.js";
import { byId, flat } from "../../shared/dom.js";
import { pictures } from "../../shared/picture.js";
import { hand } from "../../shared/tabs.js";
import { there } from "../../shared/there.js";
import { h, Mark, render, Token } from "../../shared/view.js";
import { job, showRepeats, stage } from "./repeats.js";

/** @import { Start } from "../../shared/section.js" */
/** @import { Answer, Verdict } from "./answer.py" */
/** @import { Config } from "./__init__.py" */

const { $ } = stage;
/** @param {string} sentence */
const fault = (sentence) => render(sentence, $(".sv-proof-notice"));
/** @type {Question<Answer>} */
const question = new Question("proof", fault);
const state = {
  run: "",
  /** @type {Answer | null} */
  answer: null,
};

function show() {
  const { run, answer } = state;
  render(RunList(run), $("#sv-proof-run"));
  render(answer?.sentence, $(".sv-proof-said"));
  $(".sv-proof-key").hidden = !answer?.verdicts.length;
  render(
    answer?.verdicts.map((verdict) => h("li", null, VerdictButton(verdict, answer.title))),
    $(".sv-proof-list"),
  );
}

/** @param {Verdict} verdict @param {string} title */
function VerdictButton({ round, w, kept, tv, experiment }, title) {
  const became = kept ? "accepted" : "rejected";
  const facts = "Round " + round + ", " + became + ". Distance " + tv + ". Open in the sandbox";
  const from = "Round " + round + " of “" + title + "”";
  return h(
    "button",
    {
      type: "button",
      title: facts,
      "aria-label": flat(w) + ", " + facts,
      disabled: !experiment,
      onClick() {
        hand("sv-sand", { ...there(experiment), candidates: 1, rule: "auto", preset: "", from });
        there(byId("sv-sand")).scrollIntoView({ block: "start" });
      },
    },
    Mark(became),
    h("span", null, Token(w)),
    h("b", null, tv),
  );
}

/** The run, for a picture. */
const about = () => ({
  file: state.run,
  facts: ["recorded", state.answer?.title, state.answer?.sentence],
});

/** @param {string} run */
const RunList = (run) =>
  stage.config.runs.map(([name, title]) =>
    h("option", { value: name, selected: name === run }, title),
  );

/** @param {Answer} answer */
function receive(answer) {
  state.answer = answer;
  show();
}

/** @param {string} run */
function choose(run) {
  state.run = run;
  show();
  if (run) question.ask();
}

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  const request = () => ({ run: state.run });
  question.wire(request, receive);
  window.specviz.proof = {
    request,
    ...job.verbs,
    get run() {
      return state.run;
    },
  };
  for (const place of stage.all("[data-mark]")) render(Mark(there(place.dataset.mark)), place);
  stage.onChoice("#sv-proof-run", choose);
  const guesses = () => [$(".sv-proof-key"), $(".sv-proof-list")];
  $(".sv-proof-list").after(pictures(about, [["judged guesses", guesses]]));
  showRepeats();
  job.resume();
  choose(config.runs[0]?.[0] ?? "");
}
