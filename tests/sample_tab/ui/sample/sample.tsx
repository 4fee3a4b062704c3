// A sample section: a question for Python, and its answer as components.

import { Question } from "../shared/ask";
import { Stage } from "../shared/stage";
import { render } from "../shared/view";

import type { Start } from "../shared/section";
import type { Answer, Config } from "./__init__.py";

const stage: Stage<Config> = new Stage();
const question: Question<Answer> = new Question("sample", (sentence) => {
  render(sentence, stage.$(".sv-sample-problem"));
});

const box = (name: "alpha" | "gamma"): HTMLInputElement => stage.$(`[name=${name}]`);

function show({ sentence, tokens }: Answer) {
  const content = [<p>{sentence}</p>, <ol>{tokens.map(Row)}</ol>];
  render(content, stage.$(".sv-sample-answer"));
}

const Row = (tokens: number, at: number) => <li key={at}>{tokens.toFixed(2)}</li>;

export const start: Start<Config> = (element, props, _watch, _trigger, config) => {
  stage.set(element, props, config);
  box("alpha").value = String(config.alpha);
  box("gamma").value = String(config.gamma);
  question.wire(
    () => ({ alpha: box("alpha").valueAsNumber, gamma: box("gamma").valueAsNumber }),
    show,
  );
  stage.$("form").addEventListener("input", () => question.ask());
  question.ask();
};
