// Show an answer: the output split into accepted guesses and replacements, the verdict, the numbers.

import { el, flat, mark, word } from "../../shared/dom.js";
import { there } from "../../shared/there.js";
import { high } from "./bars.js";
import { tell } from "./say.js";
import { $, stage } from "./stage.js";
import { state } from "./state.js";

/** @import { Refusal } from "../../shared/data.js" */
/** @import { Answer } from "./data.js" */

/** @type {Answer | null} */
export let last = null;
/** @type {Set<() => void>} */
const heard = new Set();

/** Call `hear` after each answer is shown. @param {() => void} hear */
export const onAnswer = (hear) => heard.add(hear);

/** @param {Answer | Refusal} answer */
export function show(answer) {
  tell(answer.problem || "");
  stage.element.classList.toggle("sv-sand-faulty", answer.problem !== undefined);
  if (answer.problem !== undefined) return;
  last = answer;
  $(".sv-sand-badge").replaceChildren(
    ...[mark(answer.is === "exact" ? "accepted" : "rejected"), answer.verdict].filter(
      (part) => part !== null,
    ),
  );
  $(".sv-sand").dataset.is = answer.is;
  const off = answer.worst === null ? [] : [chip(answer.worst), " "];
  $(".sv-sand-said").replaceChildren(...off, answer.said);
  $(".sv-sand-why").textContent = answer.why;
  for (const place of stage.all("[data-number]"))
    place.textContent = answer.numbers[there(place.dataset.number)];
  showOut(answer);
  showTable(answer);
  for (const hear of heard) hear();
}

/** @param {number} at */
const chip = (at) => el("span", "sv-sand-word", word(state.words[at]));

/** @param {Answer} answer */
function showOut({ kept, filled }) {
  $(".sv-sand-out").replaceChildren(
    ...state.words.map((_, at) => column(kept[at], filled[at], at)),
  );
  const said = state.words.map((one, at) => flat(one) + " " + (kept[at] + filled[at]).toFixed(3));
  $(".sv-sand-out").setAttribute("aria-label", "Output: " + said.join(", "));
}

/** @param {number} kept @param {number} filled @param {number} at */
function column(kept, filled, at) {
  const [through, rest, outline] = ["sv-sand-kept", "sv-sand-filled", "sv-sand-outline"].map(
    (name) => el("i", name),
  );
  through.style.height = high(kept);
  rest.style.height = high(filled);
  rest.style.bottom = high(kept);
  outline.style.height = high(state.p[at]);
  const off = Math.abs(kept + filled - state.p[at]) > 5e-4;
  const number = el("b", "", (kept + filled).toFixed(2));
  number.style.bottom = high(Math.max(kept + filled, state.p[at]));
  return el("div", "sv-sand-column" + (off ? " sv-sand-off" : ""), through, rest, outline, number);
}

/** @param {Answer} answer */
function showTable({ table }) {
  const head = el("tr", "", ...["word", ...table.heads].map((text) => cell("th", text, "col")));
  $(".sv-sand-table thead").replaceChildren(head);
  const rows = table.rows.map((row, at) => {
    const name = at < state.words.length ? flat(state.words[at]) : "sum";
    return el("tr", "", cell("th", name, "row"), ...row.map((text) => cell("td", text)));
  });
  $(".sv-sand-table tbody").replaceChildren(...rows);
}

/** @param {"th" | "td"} kind @param {string} text @param {string} [scope] */
function cell(kind, text, scope) {
  const made = el(kind, "", text);
  if (scope) made.setAttribute("scope", scope);
  return made;
}
