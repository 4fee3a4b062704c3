// Shows an answer: a sentence, a round, a table and figures.

import { el, percent } from "../../shared/dom.js";
import { plot } from "../../shared/plot.js";
import { there } from "../../shared/there.js";
import { fault, question } from "./ask.js";
import { chosen, withWhat } from "./controls.js";
import { $, stage } from "./stage.js";

/** @import { Refusal } from "../../shared/data.js" */
/** @import { Answer, Beside, FigureName, Part, Round } from "./data.js" */

/** @type {Answer | null} */
let last = null; // the newest answer on screen, for another width or theme

let withThese = ""; // where α and γ of the newest question come from

export function request() {
  withThese = withWhat();
  return chosen();
}

/** @param {Answer | Refusal} answer */
export function show(answer) {
  fault(
    answer.problem ? answer.problem + " The results below belong to the last valid choice." : "",
  );
  if (answer.problem !== undefined) return;
  last = answer;
  $(".sv-roofline-out").dataset.shown = String(question.number);
  $(".sv-roofline-say").replaceChildren(
    ...answer.said.map(spoken),
    " ",
    el("span", "sv-roofline-mark", "simulated"),
  );
  $(".sv-roofline-with").textContent = withThese;
  showBeside(answer.beside);
  $(".sv-roofline-alert").hidden = !answer.alert;
  $(".sv-roofline-alert").textContent = answer.alert || "";
  showRound(answer.round);
  showFacts(answer.facts);
  legends(answer);
  draw();
}

/** @param {Part} part */
const spoken = (part) =>
  typeof part === "string" ? part : el("b", "sv-n sv-n-" + part.as, part.n);

// The roofline's bound beside the closest published result, with a link to its row.
/** @param {Beside} beside */
function showBeside({ called, speedup, best, report }) {
  $(".sv-roofline-called").textContent = called;
  $(".sv-roofline-bound").textContent = speedup;
  $(".sv-roofline-best").textContent = best;
  $(".sv-roofline-report").hidden = !report;
  $(".sv-roofline-unreported").hidden = Boolean(report);
  if (!report) return;
  $(".sv-roofline-reported").textContent = report.number;
  $(".sv-roofline-about").textContent = report.about;
  $(".sv-roofline-notes").textContent = report.notes;
  /** @type {HTMLAnchorElement} */
  const row = $(".sv-roofline-row");
  row.href = "#sv-" + report.place;
  row.dataset.place = report.place;
}

/** @param {MouseEvent} event */
export function toRow(event) {
  event.preventDefault();
  const detail = there($(".sv-roofline-row").dataset.place);
  window.dispatchEvent(new CustomEvent("sv-report", { detail }));
}

/** @param {Round} round */
function showRound(round) {
  const scale = 1.3 * Math.max(round.brings, round.draft + round.verify);
  /** @type {[name: string, spans: [hue: string, value: number][], text: string][]} */
  const lines = [
    ["brings", [["ink", round.brings]], round.said[0]],
    [
      "costs",
      [
        ["q", round.draft],
        ["p", round.verify],
      ],
      round.said[1],
    ],
  ];
  const made = lines.map(([name, spans, text]) => {
    const bar = el(
      "span",
      "sv-roofline-bar",
      ...spans.map(([hue, value]) => {
        const piece = el("i", "sv-roofline-" + hue);
        piece.style.width = percent(value / scale);
        return value ? piece : null;
      }),
      el("b", "", text),
    );
    return el("div", "sv-roofline-line", el("span", "", name), bar);
  });
  const sum = el(
    "p",
    "",
    "Speed-up ",
    el("b", "", round.speedup),
    " = tokens ÷ cost. The cost is " + round.costs + ".",
  );
  $(".sv-roofline-round").replaceChildren(...made, sum);
}

/** @param {Answer["facts"]} rows */
function showFacts(rows) {
  const made = rows.map(([name, plain, ours]) => {
    const head = el("th", "", name);
    head.scope = "row";
    return el("tr", "", head, el("td", "", plain), el("td", "", ours));
  });
  $(".sv-roofline-table tbody").replaceChildren(...made);
}

export function draw() {
  if (!last) return;
  for (const place of stage.all("[data-figure]")) {
    const name = /** @type {FigureName} */ (place.dataset.figure);
    place.setAttribute("aria-label", last.told[name]);
    plot(place, last.figures[name]);
  }
}

/** @param {Answer} answer */
function legends(answer) {
  const { data } = answer.figures.speed;
  const keys = {
    speed: [
      ["ink", "this drafter"],
      ["area", "over the efficiencies that sources report"],
      ["dash", "if drafting were free"],
      ["open", "first batch size that is slower"],
    ],
    pass: [
      ["p", "the pass"],
      ["dash", "memory reads alone"],
      ["dot", "arithmetic alone"],
    ],
    gamma: [
      ["q", "best γ"],
      ["inkdash", "your γ"],
    ],
  };
  for (const [name, rows] of Object.entries(keys)) {
    const used = rows.filter(
      ([style]) =>
        !(name === "speed" && style === "dash" && !data["11-costless"]) &&
        !(style === "area" && !data["02-efficiencies"]) &&
        !(style === "open" && !data["41-loss"]),
    );
    const made = used.map(([style, text]) =>
      el("li", "", el("i", "sv-roofline-key-" + style), text),
    );
    $("[data-legend=" + name + "]").replaceChildren(...made);
  }
}
