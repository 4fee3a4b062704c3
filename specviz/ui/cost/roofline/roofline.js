// Other hardware and batch sizes: the question, and its newest answer. `window.specviz.roofline`
// has the functions for other sections.

import { Question } from "../../shared/ask.js";
import { pictures } from "../../shared/picture.js";
import { there } from "../../shared/there.js";
import { h, render } from "../../shared/view.js";
import { notice } from "../shared/fields.js";
import { keepDrawn } from "../shared/figure.js";
import { Part } from "../shared/part.js";
import { begin, onTerms, setTerms } from "../shared/terms.js";
import { $, chosen, fill, follow, ownNames, stage, startControls, withWhat } from "./controls.js";
import { PredictedAndPublished } from "./published_beside.js";
import { RooflineCharts } from "./roofline_charts.js";
import { Sources } from "./sources.js";

/** @import { Refusal } from "../../questions.py" */
/** @import { Start } from "../../shared/section.js" */
/** @import { Answer } from "./answer.py" */
/** @import { Choice } from "./question.py" */
/** @import { Config } from "./__init__.py" */

const OLDER = " The results below belong to the last valid choice.";
/** @param {string} sentence @param {Refusal} [refusal] */
const fault = (sentence, refusal) =>
  notice($(".sv-roofline-wrong"), refusal ? sentence + OLDER : sentence);
/** @type {Question<Answer>} */
const question = new Question("roofline", fault);
/** @type {Answer | null} */
let last = null; // the newest answer, to draw it again for another width or theme
/** @type {Part} */
let part;
let withThese = ""; // where α and γ of the newest question come from

function request() {
  withThese = withWhat();
  return chosen();
}

/** @param {Answer} answer */
function show(answer) {
  last = answer;
  $(".sv-roofline-out").dataset.shown = String(question.number);
  $(".sv-fold-answer").textContent = answer.brief;
  render([...answer.said.map(Sentence), " ", SIMULATED], $(".sv-roofline-say"));
  $(".sv-roofline-with").textContent = withThese;
  render(PredictedAndPublished(answer.beside), $(".sv-roofline-beside"));
  notice($(".sv-roofline-alert"), answer.alert || "");
  draw();
}

const SIMULATED = h("span", { class: "sv-roofline-mark" }, "simulated");
/** @param {Answer["said"][number]} spoken */
const Sentence = (spoken) =>
  typeof spoken === "string" ? spoken : h("b", { class: "sv-n sv-n-" + spoken.as }, spoken.n);

function draw() {
  if (last && part.open) render(RooflineCharts(last), $(".sv-roofline-figures"));
}

/** @param {string} figure @returns {HTMLElement} */
const section = (figure) => there($(`[data-figure=${figure}]`).closest("section"));

/** The prediction on screen, for a picture. */
function about() {
  const said = last?.said.map((spoken) => (typeof spoken === "string" ? spoken : spoken.n));
  return { file: "cost-hardware", facts: ["simulated", said?.join(""), withThese] };
}

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  question.wire(request, show);
  $(".sv-fold-answer").textContent = config.brief;
  render(Sources(config), $(".sv-roofline-sources > div"));
  const reached = Object.values(config.efficiencies);
  $(".sv-roofline-reached").textContent = reached
    .map(({ title, reported }) => title + ": " + reported)
    .join(" ");
  begin(config.terms);
  part = new Part($("details"), () => question.ask(), ownNames(config.usual));
  part.redraw = draw;
  startControls(() => part.changed());
  $(".sv-roofline-pictures").append(
    pictures(about, [
      ["speed-up by batch", () => section("speed")],
      ["time of a pass", () => section("pass")],
      ["best γ", () => section("gamma")],
      ["round on this hardware", () => stage.find(".sv-roofline-round")],
    ]),
  );
  window.specviz.roofline = {
    request,
    /** @param {Choice & { alpha?: number, gamma?: number }} values */
    ask({ alpha, gamma, ...values }) {
      fill(values);
      setTerms({ alpha, gamma });
    },
    question,
  };
  onTerms(follow);
  keepDrawn(element, draw, fault);
}
