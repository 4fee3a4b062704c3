// The verdicts of a recorded run, and the API for other sections: `window.specviz.proof`.

import { Question } from "../../shared/ask";
import { byId, flat } from "../../shared/dom";
import { pictures } from "../../shared/picture";
import { hand } from "../../shared/tabs";
import { there } from "../../shared/there";
import { h, Mark, render, Token } from "../../shared/view";
import { job, showRepeats, stage } from "./repeats";

import type { Start } from "../../shared/section";
import type { Answer, Verdict } from "./answer.py";
import type { Config } from "./__init__.py";

const { $ } = stage;
const fault = (sentence: string) => render(sentence, $(".sv-proof-notice"));
const question: Question<Answer> = new Question("proof", fault);
const state = {
  run: "",
  answer: null as Answer | null,
};

function show() {
  const { run, answer } = state;
  render(RunList(run), $("#sv-proof-run"));
  render(answer?.sentence, $(".sv-proof-said"));
  $(".sv-proof-key").hidden = !answer?.verdicts.length;
  render(
    answer?.verdicts.map((verdict) => <li>{VerdictButton(verdict, answer.title)}</li>),
    $(".sv-proof-list"),
  );
}

function VerdictButton({ round, w, kept, tv, experiment }: Verdict, title: string) {
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
    <span>{Token(w)}</span>,
    <b>{tv}</b>,
  );
}

/** The run, for a picture. */
const about = () => ({
  file: state.run,
  facts: ["recorded", state.answer?.title, state.answer?.sentence],
});

const RunList = (run: string) =>
  stage.config.runs.map(([name, title]) => (
    <option value={name} selected={name === run}>
      {title}
    </option>
  ));

function receive(answer: Answer) {
  state.answer = answer;
  show();
}

function choose(run: string) {
  state.run = run;
  show();
  if (run) question.ask();
}

export const start: Start<Config> = (element, props, _watch, _trigger, config) => {
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
};
