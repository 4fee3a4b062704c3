// Shows an answer: values and sentences as text, figures by plotly.

import { el } from "../../shared/dom.js";
import { plot } from "../../shared/plot.js";
import { there } from "../../shared/there.js";
import { setTerms } from "../shared/terms.js";
import { fault } from "./ask.js";
import { hint, several } from "./controls.js";
import { $, stage } from "./stage.js";

/** @import { Answer, Fault, FigureName } from "./data.js" */

const OLDER = " The results below belong to the last valid choice.";
/** @type {Answer | null} */
let last = null; // the newest answer on screen, for another width or theme

/** @param {Answer | Fault | { empty: true, problem?: undefined }} answer */
export function show(answer) {
  if (answer.problem !== undefined) return refuse(answer);
  fault("");
  if ("empty" in answer) return away();
  last = answer;
  $(".sv-server-teach").hidden = true;
  $(".sv-server-full").hidden = false;
  const [before, brought, after] = answer.said;
  $(".sv-server-say").replaceChildren(before, el("b", "", brought), after);
  hint(answer.batch, answer.gamma);
  showAdvice(answer);
  showTables(answer);
  showTake(answer);
  draw();
}

// After a bad text the old numbers would be misleading; after a bad machine they still hold.
/** @param {Fault} told */
function refuse(told) {
  const text = Boolean(told.models) || ["now", "before"].includes(told.field || "");
  if (text) away();
  fault(told.problem + (last ? OLDER : ""));
  if (told.models) several(told.models);
}

// No statistics: show where to find them.
function away() {
  last = null;
  $(".sv-server-teach").hidden = false;
  $(".sv-server-full").hidden = true;
  hint(null, null);
}

/** @param {Answer} answer */
function showAdvice({ advice, open }) {
  const box = $(".sv-server-advice");
  there(box.querySelector("p")).textContent = open || advice.join(" ");
  there(box.querySelector("span")).hidden = Boolean(open);
}

/** @param {Answer} answer */
function showTables({ facts, places, unsaid, figures }) {
  $(".sv-server-facts tbody").replaceChildren(...facts.map(row));
  $(".sv-server-places tbody").replaceChildren(...places.map(row));
  $(".sv-server-unsaid").replaceChildren(...unsaid.map((said) => el("li", "", said)));
  for (const part of stage.all("[data-part]")) {
    part.hidden = !figures[/** @type {FigureName} */ (part.dataset.part)];
  }
}

/** @param {string[]} cells */
function row([name, ...values]) {
  const head = el("th", "", name);
  head.scope = "row";
  return el("tr", "", head, ...values.map((value) => el("td", "", value)));
}

/** @param {Answer} answer */
function showTake({ takes }) {
  const button = $("[data-do=take]");
  button.hidden = !takes;
  if (takes)
    button.textContent = `Use α = ${takes.alpha.toFixed(2)} and γ = ${takes.gamma} on the whole tab`;
}

// The formula and the roofline above follow.
export function take() {
  if (!last?.takes) return;
  const { alpha, gamma, said } = last.takes;
  setTerms({ alpha, gamma }, { kind: "server", said });
}

// Figures; again whenever the window or the theme changes.
export function draw() {
  if (!last || !stage.element.offsetParent) return;
  for (const place of stage.all("[data-figure]")) {
    const name = /** @type {FigureName} */ (place.dataset.figure);
    place.setAttribute("aria-label", last.told[name]);
    if (last.figures[name]) plot(place, last.figures[name]);
  }
}
