// Other hardware and batch sizes: the question, and its newest answer. `window.specviz.roofline`
// has the functions for other sections.

import { Question } from "../../shared/ask";
import { pictures } from "../../shared/picture";
import { there } from "../../shared/there";
import { render } from "../../shared/view";
import { onScreen } from "../shared/address";
import { notice } from "../shared/fields";
import { keepDrawn } from "../shared/figure";
import { Part } from "../shared/part";
import { begin, onTerms, setTerms } from "../shared/terms";
import { $, chosen, fill, follow, ownNames, stage, startControls, withWhat } from "./controls";
import { PredictedAndPublished } from "./published_beside";
import { RooflineCharts } from "./roofline_charts";
import { Sources } from "./sources";

import type { Refusal } from "../../questions.py";
import type { Start } from "../../shared/section";
import type { Answer } from "./answer.py";
import type { Choice } from "./question.py";
import type { Config } from "./__init__.py";

const OLDER = " The results below belong to the last valid choice.";
const fault = (sentence: string, refusal?: Refusal) =>
  notice($(".sv-roofline-wrong"), refusal ? sentence + OLDER : sentence);
const question: Question<Answer> = new Question("roofline", fault);
let last: Answer | null = null; // the newest answer, to draw it again for another width or theme
let part: Part;
let withThese = ""; // where α and γ of the newest question come from

function request() {
  withThese = withWhat();
  return chosen();
}

function show(answer: Answer) {
  last = answer;
  $(".sv-roofline-out").dataset.shown = String(question.number);
  $(".sv-fold-answer").textContent = answer.brief;
  render([...answer.said.map(Sentence), " ", SIMULATED], $(".sv-roofline-say"));
  $(".sv-roofline-with").textContent = withThese;
  render(PredictedAndPublished(answer.beside), $(".sv-roofline-beside"));
  notice($(".sv-roofline-alert"), answer.alert || "");
  draw();
}

const SIMULATED = <span class="sv-roofline-mark">simulated</span>;
const Sentence = (spoken: Answer["said"][number]) =>
  typeof spoken === "string" ? spoken : <b class={"sv-n sv-n-" + spoken.as}>{spoken.n}</b>;

function draw() {
  if (last && part.open) render(RooflineCharts(last), $(".sv-roofline-figures"));
}

const section = (figure: string): HTMLElement =>
  there($(`[data-figure=${figure}]`).closest("section"));

/** The prediction on screen, for a picture. */
function about() {
  const said = last?.said.map((spoken) => (typeof spoken === "string" ? spoken : spoken.n));
  return { file: "cost-hardware", facts: ["simulated", said?.join(""), withThese] };
}

export const start: Start<Config> = (element, props, _watch, _trigger, config) => {
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
    ask({ alpha, gamma, ...values }: Choice & { alpha?: number; gamma?: number }) {
      fill(values);
      setTerms({ alpha, gamma });
    },
    question,
  };
  onTerms(follow);
  new ResizeObserver(() => onScreen(element.clientWidth > 0)).observe(element);
  keepDrawn(element, draw, fault);
};
