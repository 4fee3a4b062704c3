// A sample section: a question for Python, and its answer as components.

import { Question } from "../shared/ask.js";
import { Stage } from "../shared/stage.js";
import { h, render } from "../shared/view.js";

/** @import { Start } from "../shared/section.js" */
/** @import { Answer, Config } from "./__init__.py" */

/** @type {Stage<Config>} */
const stage = new Stage();
/** @type {Question<Answer>} */
const question = new Question("sample", (sentence) => {
  render(sentence, stage.$(".sv-sample-problem"));
});

/** @param {"alpha" | "gamma"} name @returns {HTMLInputElement} */
const box = (name) => stage.$(`[name=${name}]`);

/** @param {Answer} answer */
function show({ sentence, tokens }) {
  const content = [h("p", null, sentence), h("ol", null, tokens.map(Row))];
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
