// Shows an answer: a sentence, a figure, and tables of drafters and passes.

import { el } from "../../shared/dom.js";
import { plot } from "../../shared/plot.js";
import { told } from "../shared/terms.js";
import { fault, offer } from "./ask.js";
import { $, stage } from "./stage.js";

/** @import { Refusal } from "../../shared/data.js" */
/** @import { Answer, Row, Shown } from "./data.js" */

/** @type {[title: string, simulated: boolean, cell: (row: Row) => Node | string][]} */
const COLUMNS = [
  ["drafter", false, (row) => el("span", "", el("b", "", row.title), el("small", "", row.about))],
  ["drafting", false, (row) => el("span", "", row.draft + " ms", el("small", "", row.middle))],
  ["in plain passes", false, (row) => row.share],
  ["c, per level", false, (row) => row.level],
  ["verification", false, (row) => row.check],
  ["acceptance", false, (row) => row.rest],
  ["whole round", false, (row) => row.whole],
  ["pays from α", true, (row) => row.even],
  ["speed-up at this α", true, (row) => el("b", row.gains ? "" : "sv-shapes-slower", row.speedup)],
];
const PASSES = ["tokens in the pass", "measured, ms", "plain passes", "roofline, ms"];
const KEYS = [
  ["sv-sweep-mark", "measured: median and middle 50%"],
  ["sv-sweep-dash", "roofline: simulated"],
  ["sv-sweep-dots", "roofline + overhead of a plain pass: simulated"],
];
/** @type {Shown | null} */
let last = null;

/** @param {Answer | Refusal} answer */
export function receive(answer) {
  fault(answer.problem ?? "");
  if (answer.problem === undefined) show(answer);
}

/** @param {Shown} answer */
export function show(answer) {
  last = answer;
  $(".sv-shapes-body").hidden = false;
  offer("model", answer.models, answer.model);
  const contexts = answer.contexts.map((count) => String(count));
  offer(
    "context",
    contexts.map((count) => [count, Number(count).toLocaleString("en") + " tokens"]),
    String(answer.context),
  );
  for (const name of /** @type {const} */ (["where", "answer", "how", "command"]))
    $(".sv-shapes-" + name).textContent = answer[name];
  $(".sv-shapes-caution").textContent = answer.caution;
  $(".sv-shapes-caution").hidden = !answer.caution;
  $(".sv-shapes-with").textContent = told();
  drafters(answer.rows);
  passes(answer.passes);
  draw();
}

export function draw() {
  if (last && stage.element.offsetParent) plot($(".sv-shapes-plot"), last.figure);
}

/** @param {Row[]} rows */
function drafters(rows) {
  const head = el("tr", "", ...COLUMNS.map(([title, simulated]) => heading(title, simulated)));
  const body = rows.map((row) => {
    const cells = COLUMNS.map(([title, simulated, cell], at) => {
      const made = el(at ? "td" : "th", "", cell(row));
      made.dataset.label = simulated ? title + ", simulated" : title;
      return made;
    });
    /** @type {HTMLTableCellElement} */ (cells[0]).scope = "row";
    return el("tr", "", ...cells);
  });
  tabled(".sv-shapes-drafters", "What a round costs, by drafter", head, body);
}

/** @param {Shown["passes"]} rows */
function passes(rows) {
  const head = el("tr", "", ...PASSES.map((title) => heading(title, title.startsWith("roofline"))));
  const body = rows.map((row) => el("tr", "", ...row.map((text) => el("td", "", text))));
  tabled(".sv-shapes-passes", "Pass time by number of tokens", head, body);
}

/**
 * @param {string} place
 * @param {string} caption
 * @param {HTMLElement} head
 * @param {HTMLElement[]} body
 */
function tabled(place, caption, head, body) {
  const made = el("table", "", el("thead", "", head), el("tbody", "", ...body));
  made.prepend(el("caption", "sv-unseen", caption));
  $(place).replaceChildren(made);
}

/** @param {string} title @param {boolean} simulated */
function heading(title, simulated) {
  const made = el("th", "", title);
  made.scope = "col";
  if (simulated) made.append(" ", el("span", "sv-shapes-simulated", "simulated"));
  return made;
}

export function legend() {
  const keys = KEYS.map(([name, text]) => el("span", "sv-sweep-key", el("i", name), text));
  $(".sv-shapes-keys").replaceChildren(...keys);
}
