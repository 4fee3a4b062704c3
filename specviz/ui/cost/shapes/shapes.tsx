// Measured costs of public shapes: a shipped file or the visitor's own, a model and a context in
// it, and the tab's α. `window.specviz.shapes` has the functions for other sections.

import { Question } from "../../shared/ask";
import { pictures } from "../../shared/picture";
import { Stage } from "../../shared/stage";
import { render } from "../../shared/view";
import { Choice, notice } from "../shared/fields";
import { keepDrawn, Plot } from "../shared/figure";
import { Part } from "../shared/part";
import { begin, onTerms, setTerms, shown, terms, told } from "../shared/terms";
import { DrafterTable, PassTable } from "./cost_tables";

import type { Start } from "../../shared/section";
import type { Option } from "../shared/fields";
import type { Answer, Config } from "./__init__.py";

const NONE = "There are no measured costs. Open your own file, made with the command below.";
const OWN = "own"; // the value of a visitor's file in the list
const KEYS = [
  ["mark", "measured: median and middle 50%"],
  ["dash", "roofline: simulated"],
  ["dots", "roofline + overhead of a plain pass: simulated"],
];

const stage: Stage<Config> = new Stage();
const { $ } = stage;
const fault = (sentence: string) => notice($(".sv-shapes-wrong"), sentence);
const question: Question<Answer> = new Question("shapes", fault);
let last: Answer | null = null;
let own: { name: string; text: string } | null = null;
let part: Part;
const choice = { file: "", model: "", context: 0 };

const request = () => ({
  ...choice,
  text: choice.file === OWN && own ? own.text : null,
  alpha: terms.alpha,
});

function choose(values: Partial<typeof choice>) {
  Object.assign(choice, values);
  showChoices();
  part.changed();
}

// Show a visitor's file immediately, and add it to the list of shipped files.
function bring(name: string, text: string) {
  if (text.length > stage.config.largest) {
    fault("A file of measured costs has at most " + (stage.config.largest >> 10) + " KiB.");
    return;
  }
  own = { name, text };
  choose({ file: OWN });
}

async function picked(picker: HTMLInputElement) {
  const [file] = picker.files ?? [];
  picker.value = ""; // the same file can be picked again
  if (!file) return;
  try {
    bring(file.name, await file.slice(0, 4 * stage.config.largest).text());
  } catch {
    fault("This file could not be read.");
  }
}

const Labelled = (title: string, name: keyof typeof choice, pairs: Option[]) => (
  <label key={name}>
    <span>{title}</span>
    {Choice({ name }, pairs, String(choice[name]), (value) =>
      choose({ [name]: name === "context" ? Number(value) : value }),
    )}
  </label>
);

function showChoices() {
  const files: Option[] = own ? [...stage.config.files, [OWN, own.name]] : stage.config.files;
  const contexts: Option[] = (last?.contexts ?? []).map((count) => [
    String(count),
    count.toLocaleString("en") + " tokens",
  ]);
  render(
    [
      Labelled("Machine and date", "file", files),
      Labelled("Target", "model", last?.models ?? []),
      Labelled("Context before the pass", "context", contexts),
    ],
    $(".sv-shapes-choices"),
  );
}

function show(answer: Answer) {
  last = answer;
  $(".sv-fold-answer").textContent = answer.answer;
  $(".sv-shapes-body").hidden = false;
  Object.assign(choice, { model: answer.model, context: answer.context });
  draw();
}

// Draw what is shown, also for another width or theme.
function draw() {
  if (!last || !part.open) return;
  showChoices();
  for (const name of ["where", "answer", "how", "command"] as const)
    $(".sv-shapes-" + name).textContent = last[name];
  notice($(".sv-shapes-caution"), last.caution);
  $(".sv-shapes-with").textContent = told();
  render(Passes(last), $(".sv-shapes-figure"));
  render(DrafterTable(last.rows), $(".sv-shapes-drafters"));
  render(PassTable(last.passes), $(".sv-shapes-passes"));
}

/** The costs on screen, for a picture. */
function about() {
  const { where, models = [], context = 0, answer } = last ?? {};
  const model = models.find(([name]) => name === choice.model)?.[1];
  const before = "context of " + context.toLocaleString("en") + " tokens";
  return { file: "cost-" + choice.model, facts: [model, before, where, answer] };
}

const Passes = ({ figure }: Answer) => [
  <figcaption class="sv-sweep-keys sv-shapes-keys">
    {KEYS.map(([mark, text]) => (
      <span class="sv-sweep-key">
        <i class={"sv-sweep-" + mark} />
        {text}
      </span>
    ))}
  </figcaption>,
  <div class="sv-sweep-place sv-shapes-place">
    {Plot("sv-plot sv-shapes-plot", figure, { "aria-labelledby": "sv-shapes-answer" })}
  </div>,
];

const slide: () => HTMLInputElement = () => $("[name=alpha]");

// Set the slider to the tab's α.
function follow() {
  slide().value = String(terms.alpha);
  $(".sv-shapes-alpha").textContent = shown().alpha;
}

function wire() {
  const picker: HTMLInputElement = $(".sv-shapes-file");
  $(".sv-shapes-pick").addEventListener("click", () => picker.click());
  picker.addEventListener("change", () => picked(picker));
  const pasted: HTMLTextAreaElement = $(".sv-shapes-text");
  pasted.addEventListener("input", () => {
    if (pasted.value.trim()) bring("pasted text", pasted.value);
  });
  slide().addEventListener("input", () => setTerms({ alpha: Number(slide().value) }));
  onTerms(() => {
    follow();
    part.changed();
  });
}

export const start: Start<Config> = (element, props, _watch, _trigger, config) => {
  stage.set(element, props, config);
  question.wire(request, show);
  part = new Part($("[data-part]"), () => {
    draw();
    if (choice.file) question.ask();
  });
  part.redraw = draw;
  begin(config.terms);
  wire();
  follow();
  choice.file = config.files[0]?.[0] ?? "";
  showChoices();
  window.specviz.shapes = {
    request,
    bring,
    question,
  };
  $(".sv-shapes-pictures").append(pictures(about, [["pass times", () => $(".sv-shapes-figure")]]));
  if (config.first) show(config.first);
  else fault(NONE);
  keepDrawn(element, draw, fault);
};
