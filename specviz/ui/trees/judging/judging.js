// Event wiring, and the section's public object `window.specviz.judging`.

import { Question } from "../../shared/ask.js";
import { el, mark } from "../../shared/dom.js";
import { listLive } from "../shared/places.js";
import { become, treeOf } from "../shared/svg.js";
import { $, stage } from "./stage.js";

/** @import { Refusal, Start } from "../../shared/data.js" */
/** @import { Answer, Config, RuleAnswer } from "./data.js" */

const SILENT = "The server does not answer. Try again.";
/** @type {Question<Answer>} */
const question = new Question("judging", () => tell(SILENT));
const state = { place: "", shape: 0, drawn: "", seed: 1, average: false };

/** @param {string} sentence */
function tell(sentence) {
  $(".sv-judge-notice").textContent = sentence;
  $(".sv-judge-notice").hidden = !sentence;
}

/** @param {Answer | Refusal} answer */
function show(answer) {
  tell(answer.problem || "");
  if (answer.problem === undefined) {
    $(".sv-judge-pair").replaceChildren(...answer.rules.map((rule) => card(rule, answer)));
    $(".sv-judge-mean").textContent = answer.average ? answer.average.said : "";
    $("[data-do=mean]").hidden = Boolean(answer.average);
  }
}

/** @param {RuleAnswer} rule @param {Answer} answer */
function card({ title, roles, coins, expected, said }, { nodes, layout }) {
  const [svg, groups] = treeOf(
    layout,
    nodes.map((node) => ({ ...node, total: "" })),
  );
  for (const [node, group] of groups) become(group, roles[node], layout.places[String(node)]);
  const rows = coins.map(([guess, u, keep, is]) =>
    el(
      "tr",
      "",
      ...[guess, u, keep].map((text) => el("td", "", text)),
      el("td", "", mark(is), " ", is),
    ),
  );
  const heads = ["guess", "coin u", "accepted if u <", ""].map((text) => {
    const made = el("th", "", text);
    made.setAttribute("scope", "col");
    return made;
  });
  return el(
    "div",
    "sv-judge-card",
    el("h3", "", title),
    el("p", "sv-judge-said", said),
    el("div", "sv-judge-view", svg),
    el(
      "table",
      "sv-judge-coins",
      el("thead", "", el("tr", "", ...heads)),
      el("tbody", "", ...rows),
    ),
    el(
      "p",
      "sv-judge-expected",
      "Expected accepted length of this tree, over all coins: ",
      el("b", "", expected),
    ),
  );
}

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  question.wire(() => state, show);
  window.specviz.judging = {
    request: () => state,
    get idle() {
      return question.idle;
    },
  };
  const ask = () => {
    state.average = false;
    question.ask();
  };
  list("#sv-judge-place", config.places, (value) => {
    state.place = value;
    ask();
  });
  list(
    "#sv-judge-shape",
    config.shapes.map((title, at) => [String(at), title]),
    (value) => {
      state.shape = Number(value);
      ask();
    },
  );
  list("#sv-judge-drawn", config.drawn, (value) => {
    state.drawn = value;
    ask();
  });
  $("[data-do=again]").addEventListener("click", () => {
    state.seed += 1;
    ask();
  });
  $("[data-do=mean]").addEventListener("click", () => {
    state.average = true;
    question.ask();
  });
  $(".sv-judge-asked").addEventListener("submit", (event) => event.preventDefault());
  state.place = config.places[0][0];
  state.drawn = config.drawn[0][0];
  listLive("sv-judge", () => $("#sv-judge-place"));
  ask();
}

/** @param {string} id @param {[string, string][]} rows @param {(value: string) => void} heard */
function list(id, rows, heard) {
  /** @type {HTMLSelectElement} */
  const made = $(id);
  made.replaceChildren(...rows.map(([value, title]) => new Option(title, value)));
  made.addEventListener("change", () => heard(made.value));
}
