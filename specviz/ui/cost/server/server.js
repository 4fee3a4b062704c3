// A visitor's server: the question about a pasted text, and its newest answer.
// `window.specviz.server` has the functions for other sections.

import { Question } from "../../shared/ask.js";
import { pictures } from "../../shared/picture.js";
import { h, render } from "../../shared/view.js";
import { notice } from "../shared/fields.js";
import { keepDrawn } from "../shared/figure.js";
import { Part } from "../shared/part.js";
import { setTerms } from "../shared/terms.js";
import { $, chosen, fill, hint, named, paste, several, stage, startControls } from "./controls.js";
import { Advice, ServerReport } from "./server_report.js";

/** @import { Refusal } from "../../questions.py" */
/** @import { Start } from "../../shared/section.js" */
/** @import { Answer, Empty, SeveralModelsRefusal } from "./answer.py" */
/** @import { Config } from "./__init__.py" */

const OLDER = " The results below belong to the last valid choice.";
/** @type {Question<Answer | Empty>} */
const question = new Question("server", fault);
/** @type {Answer | null} */
let last = null; // the newest answer shown, to draw it again for another width or theme
/** @type {Part} */
let part;

/** @param {string} sentence @param {Refusal & Partial<SeveralModelsRefusal>} [refusal] */
function fault(sentence, refusal) {
  // After an invalid text, the old numbers would be misleading; after an invalid machine, they are
  // still correct.
  const { field, models } = refusal ?? {};
  if (models || field === "now" || field === "before") showReport(null);
  notice($(".sv-server-wrong"), sentence + (refusal && last ? OLDER : ""));
  if (models) several(models);
}

/** @param {Answer | Empty} answer */
const show = (answer) => showReport("empty" in answer ? null : answer);

// If there are no statistics, say where to find them.
/** @param {Answer | null} answer */
function showReport(answer) {
  last = answer;
  $(".sv-server-teach").hidden = Boolean(answer);
  $(".sv-server-full").hidden = !answer;
  hint(answer?.batch ?? null, answer?.gamma ?? null);
  $(".sv-fold-answer").textContent = answer?.brief ?? stage.config.brief;
  if (!answer) return;
  const [before, tokens, after] = answer.said;
  render([before, h("b", null, tokens), after], $(".sv-server-say"));
  render(Advice(answer), $(".sv-server-advice"));
  render(
    answer.unsaid.map((said) => h("li", null, said)),
    $(".sv-server-unsaid"),
  );
  render(TakeButton(answer), $(".sv-server-take"));
  draw();
}

// A button that uses α and γ of the answer in the other parts of the tab.
/** @param {Answer} answer */
function TakeButton({ takes }) {
  if (!takes) return null;
  const { alpha, gamma, said } = takes;
  const title = `Use α = ${alpha.toFixed(2)} and γ = ${gamma} on the whole tab`;
  const onClick = () => setTerms({ alpha, gamma }, { kind: "server", said });
  return h("button", { type: "button", onClick }, title);
}

function draw() {
  if (last && part.open) render(ServerReport(last), $(".sv-server-figures"));
}

// Show the example: a real measurement, and the machine on which it was made.
function example() {
  const { text, said, site } = stage.config.example;
  paste(text);
  fill(site);
  $(".sv-server-from").textContent = said;
  part.changed();
}

function clear() {
  paste("");
  fill(stage.config.start);
  named("now").focus();
  part.changed();
}

/** @param {string} figure @returns {HTMLElement | null} */
const section = (figure) => stage.find(`[data-figure=${figure}]`)?.closest("section") ?? null;

/** The statistics on screen, for a picture. */
const about = () => ({
  file: "cost-server",
  facts: [$(".sv-server-from").textContent, last?.brief],
});

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  question.wire(chosen, show);
  $(".sv-fold-answer").textContent = config.brief;
  part = new Part($("[data-part]"), () => question.ask());
  part.redraw = draw;
  startControls(() => part.changed());
  hint(null, null);
  window.specviz.server = {
    request: chosen,
    question,
  };
  $(".sv-server-pictures").append(
    pictures(about, [
      ["acceptance by position", () => section("places")],
      ["speed-up by γ", () => section("outlook")],
      ["step by step", () => stage.find(".sv-server-strip")?.closest("section") ?? null],
    ]),
  );
  $("[data-do=example]").addEventListener("click", example);
  $("[data-do=clear]").addEventListener("click", clear);
  keepDrawn(element, draw, fault);
}
