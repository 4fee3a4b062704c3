// A sample section: a question for Python, and its answer as components.

import { Question } from "../shared/ask.js";
import { Stage } from "../shared/stage.js";
import { h, render } from "../shared/view.js";

/** @import { Reply } from "../shared/ask.js" */
/** @import { Start } from "../shared/section.js" */
/** @import { Answer, Config } from "./__init__.py" */

/** @type {Stage<Config>} */
const stage = new Stage();
/** @type {Question<Answer>} */
const question = new Question("sample", () => show({ problem: "No answer yet.", field: "" }));

/** @param {"alpha" | "gamma"} name @returns {HTMLInputElement} */
const box = (name) => stage.$(`[name=${name}]`);

/** @param {Reply<Answer>} answer */
function show(answer) {
  const content =
    answer.problem === undefined
      ? [h("p", null, answer.sentence), h("ol", null, answer.tokens.map(Row))]
      : h("p", { class: "sv-sample-problem" }, answer.problem);
  render(content, stage.$(".sv-sample-answer"));
}

/** @param {number} tokens @param {number} at */
const Row = (tokens, at) => h("li", { key: at }, tokens.toFixed(2));

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  box("alpha").value = String(config.alpha);
  box("gamma").value = String(config.gamma);
  question.wire(
    () => ({ alpha: box("alpha").valueAsNumber, gamma: box("gamma").valueAsNumber }),
    show,
  );
  stage.$("form").addEventListener("input", () => question.ask());
  question.ask();
}
