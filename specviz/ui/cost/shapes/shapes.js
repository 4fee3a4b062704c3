// Measured costs of public shapes: a shipped file or the visitor's own, a model and a context in
// it, and the tab's α. `window.specviz.shapes` has the functions for other sections.

import { Question } from "../../shared/ask.js";
import { pictures } from "../../shared/picture.js";
import { Stage } from "../../shared/stage.js";
import { h, render } from "../../shared/view.js";
import { Choice, notice } from "../shared/fields.js";
import { keepDrawn, Plot } from "../shared/figure.js";
import { Part } from "../shared/part.js";
import { begin, onTerms, setTerms, shown, terms, told } from "../shared/terms.js";
import { DrafterTable, PassTable } from "./cost_tables.js";

/** @import { Start } from "../../shared/section.js" */
/** @import { Option } from "../shared/fields.js" */
/** @import { Answer, Config } from "./__init__.py" */

const NONE = "There are no measured costs. Open your own file, made with the command below.";
const OWN = "own"; // the value of a visitor's file in the list
const KEYS = [
  ["mark", "measured: median and middle 50%"],
  ["dash", "roofline: simulated"],
  ["dots", "roofline + overhead of a plain pass: simulated"],
];

/** @type {Stage<Config>} */
const stage = new Stage();
const { $ } = stage;
/** @param {string} sentence */
const fault = (sentence) => notice($(".sv-shapes-wrong"), sentence);
/** @type {Question<Answer>} */
const question = new Question("shapes", fault);
/** @type {Answer | null} */
let last = null;
/** @type {{ name: string, text: string } | null} */
let own = null;
/** @type {Part} */
let part;
const choice = { file: "", model: "", context: 0 };

const request = () => ({
  ...choice,
  text: choice.file === OWN && own ? own.text : null,
  alpha: terms.alpha,
});

/** @param {Partial<typeof choice>} values */
function choose(values) {
  Object.assign(choice, values);
  showChoices();
  part.changed();
}

// Show a visitor's file immediately, and add it to the list of shipped files.
/** @param {string} name @param {string} text */
function bring(name, text) {
  if (text.length > stage.config.largest) {
    fault("A file of measured costs has at most " + (stage.config.largest >> 10) + " KiB.");
    return;
  }
  own = { name, text };
  choose({ file: OWN });
}

/** @param {HTMLInputElement} picker */
async function picked(picker) {
  const [file] = picker.files ?? [];
  picker.value = ""; // the same file can be picked again
  if (!file) return;
  try {
    bring(file.name, await file.slice(0, 4 * stage.config.largest).text());
  } catch {
    fault("This file could not be read.");
  }
}

/** @param {string} title @param {keyof typeof choice} name @param {Option[]} pairs */
const Labelled = (title, name, pairs) =>
  h(
    "label",
    { key: name },
    h("span", null, title),
    Choice({ name }, pairs, String(choice[name]), (value) =>
      choose({ [name]: name === "context" ? Number(value) : value }),
    ),
  );

function showChoices() {
  /** @type {Option[]} */
  const files = own ? [...stage.config.files, [OWN, own.name]] : stage.config.files;
  /** @type {Option[]} */
  const contexts = (last?.contexts ?? []).map((count) => [
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

/** @param {Answer} answer */
function show(answer) {
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
  for (const name of /** @type {const} */ (["where", "answer", "how", "command"]))
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

/** @param {Answer} answer */
const Passes = ({ figure }) => [
  h(
    "figcaption",
    { class: "sv-sweep-keys sv-shapes-keys" },
    KEYS.map(([mark, text]) =>
      h("span", { class: "sv-sweep-key" }, h("i", { class: "sv-sweep-" + mark }), text),
    ),
  ),
  h(
    "div",
    { class: "sv-sweep-place sv-shapes-place" },
    Plot("sv-plot sv-shapes-plot", figure, { "aria-labelledby": "sv-shapes-answer" }),
  ),
];

/** @type {() => HTMLInputElement} */
const slide = () => $("[name=alpha]");

// Set the slider to the tab's α.
function follow() {
  slide().value = String(terms.alpha);
  $(".sv-shapes-alpha").textContent = shown().alpha;
}

function wire() {
  /** @type {HTMLInputElement} */
  const picker = $(".sv-shapes-file");
  $(".sv-shapes-pick").addEventListener("click", () => picker.click());
  picker.addEventListener("change", () => picked(picker));
  /** @type {HTMLTextAreaElement} */
  const pasted = $(".sv-shapes-text");
  pasted.addEventListener("input", () => {
    if (pasted.value.trim()) bring("pasted text", pasted.value);
  });
  slide().addEventListener("input", () => setTerms({ alpha: Number(slide().value) }));
  onTerms(() => {
    follow();
    part.changed();
  });
}

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
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
}
