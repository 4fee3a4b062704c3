// A visitor's server: the question about a pasted text, and its newest answer.
// `window.specviz.server` has the functions for other sections.

import { Question } from "../../shared/ask";
import { pictures } from "../../shared/picture";
import { render } from "../../shared/view";
import { notice } from "../shared/fields";
import { keepDrawn } from "../shared/figure";
import { Part } from "../shared/part";
import { setTerms } from "../shared/terms";
import { $, chosen, fill, hint, named, paste, several, stage, startControls } from "./controls";
import { Advice, ServerReport } from "./server_report";

import type { Refusal } from "../../questions.py";
import type { Start } from "../../shared/section";
import type { Answer, Empty, SeveralModelsRefusal } from "./answer.py";
import type { Config } from "./__init__.py";

const OLDER = " The results below belong to the last valid choice.";
const question: Question<Answer | Empty> = new Question("server", fault);
let last: Answer | null = null; // the newest answer shown, to draw it again for another width or theme
let part: Part;

function fault(sentence: string, refusal?: Refusal & Partial<SeveralModelsRefusal>) {
  // After an invalid text, the old numbers would be misleading; after an invalid machine, they are
  // still correct.
  const { field, models } = refusal ?? {};
  if (models || field === "now" || field === "before") showReport(null);
  notice($(".sv-server-wrong"), sentence + (refusal && last ? OLDER : ""));
  if (models) several(models);
}

const show = (answer: Answer | Empty) => showReport("empty" in answer ? null : answer);

// If there are no statistics, say where to find them.
function showReport(answer: Answer | null) {
  last = answer;
  $(".sv-server-teach").hidden = Boolean(answer);
  $(".sv-server-full").hidden = !answer;
  hint(answer?.batch ?? null, answer?.gamma ?? null);
  $(".sv-fold-answer").textContent = answer?.brief ?? stage.config.brief;
  if (!answer) return;
  const [before, tokens, after] = answer.said;
  render([before, <b>{tokens}</b>, after], $(".sv-server-say"));
  render(Advice(answer), $(".sv-server-advice"));
  render(
    answer.unsaid.map((said) => <li>{said}</li>),
    $(".sv-server-unsaid"),
  );
  render(TakeButton(answer), $(".sv-server-take"));
  draw();
}

// A button that uses α and γ of the answer in the other parts of the tab.
function TakeButton({ takes }: Answer) {
  if (!takes) return null;
  const { alpha, gamma, said } = takes;
  const title = `Use α = ${alpha.toFixed(2)} and γ = ${gamma} on the whole tab`;
  const onClick = () => setTerms({ alpha, gamma }, { kind: "server", said });
  return (
    <button type="button" onClick={onClick}>
      {title}
    </button>
  );
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

const section = (figure: string): HTMLElement | null =>
  stage.find(`[data-figure=${figure}]`)?.closest("section") ?? null;

/** The statistics on screen, for a picture. */
const about = () => ({
  file: "cost-server",
  facts: [$(".sv-server-from").textContent, last?.brief],
});

export const start: Start<Config> = (element, props, _watch, _trigger, config) => {
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
};
