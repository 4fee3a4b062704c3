// Set-up of the section, and the API that other sections use: `window.specviz.proof`.

import { Question } from "../../shared/ask.js";
import { byId, el, flat, mark, word } from "../../shared/dom.js";
import { hand } from "../../shared/tabs.js";
import { there } from "../../shared/there.js";
import { job } from "./repeats.js";
import { $, stage } from "./stage.js";

/** @import { Refusal, Start } from "../../shared/data.js" */
/** @import { Answer, Config, Verdict } from "./data.js" */

const SILENT = "The server does not answer. Try again.";
/** @type {Question<Answer>} */
const question = new Question("proof", () => tell(SILENT));
let run = "";

/** @param {string} sentence */
function tell(sentence) {
  $(".sv-proof-notice").textContent = sentence;
  $(".sv-proof-notice").hidden = !sentence;
}

/** @param {Answer | Refusal} answer */
function show(answer) {
  tell(answer.problem || "");
  if (answer.problem !== undefined) return;
  const { said, verdicts, title } = answer;
  $(".sv-proof-said").textContent = said;
  $(".sv-proof-key").hidden = !verdicts.length;
  $(".sv-proof-list").replaceChildren(
    ...verdicts.map((verdict) => el("li", "", entry(verdict, title))),
  );
}

/** @param {Verdict} verdict @param {string} title */
function entry(verdict, title) {
  const { round, w, kept, tv, laws } = verdict;
  const sign = mark(kept ? "accepted" : "rejected");
  const made = el("button", "", sign, el("span", "", word(w)), el("b", "", tv));
  made.type = "button";
  made.disabled = !laws;
  const became = kept ? "accepted" : "rejected";
  made.title = "Round " + round + ", " + became + ". Distance " + tv + ". Open in the sandbox";
  made.setAttribute("aria-label", flat(w) + ", " + made.title);
  made.addEventListener("click", () => {
    const from = "Round " + round + " of “" + title + "”";
    hand("sv-sand", {
      ...there(laws),
      candidates: 1,
      rule: "auto",
      preset: "",
      from,
    });
    there(byId("sv-sand")).scrollIntoView({ block: "start" });
  });
  return made;
}

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  question.wire(() => ({ run }), show);
  window.specviz.proof = {
    request: () => ({ run }),
    begin: () => job.begin(),
    stop: () => job.stop(),
    ended: () => job.ended(),
    get run() {
      return run;
    },
  };
  for (const state of /** @type {const} */ (["accepted", "rejected"])) {
    $(`[data-mark=${state}]`).replaceChildren(there(mark(state)));
  }
  /** @type {HTMLSelectElement} */
  const list = $("#sv-proof-run");
  list.replaceChildren(...config.runs.map(([name, title]) => new Option(title, name)));
  const ask = () => {
    run = list.value;
    if (run) question.ask();
  };
  list.addEventListener("change", ask);
  $("[data-do=go]").textContent = "Run it " + config.times + " times with and without a draft";
  $("[data-do=go]").addEventListener("click", () => there(byId("sv-proof-go")).click());
  $("[data-do=stop]").addEventListener("click", () => there(byId("sv-proof-stop")).click());
  ask();
}
