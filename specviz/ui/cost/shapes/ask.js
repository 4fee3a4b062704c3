// The question: a file that ships or the visitor's own, a model and a context in it, the tab's α.

import { Question } from "../../shared/ask.js";
import { terms } from "../shared/terms.js";
import { $, stage } from "./stage.js";

/** @import { Answer } from "./data.js" */

const SILENT = "The server does not answer. The results shown belong to an earlier choice.";
export const OWN = "own"; // the list value of a visitor's file
/** @type {Question<Answer>} */
export const question = new Question("shapes", () => fault(SILENT));
/** @type {{ name: string, text: string } | null} */
let own = null;

export const ask = () => question.ask();

/** @param {string} name @returns {HTMLSelectElement} */
export const select = (name) => $("select[name=" + name + "]");

/** @param {string} sentence */
export function fault(sentence) {
  const wrong = $(".sv-shapes-wrong");
  wrong.hidden = !sentence;
  wrong.textContent = sentence;
}

export function request() {
  const file = select("file").value;
  return {
    file,
    text: file === OWN && own ? own.text : null,
    model: select("model").value,
    context: Number(select("context").value),
    alpha: terms.alpha,
  };
}

// A visitor's file is shown at once and listed beside those that ship.
/** @param {string} name @param {string} text */
export function bring(name, text) {
  if (text.length > stage.config.largest) {
    fault("A file of measured costs has at most " + (stage.config.largest >> 10) + " KiB.");
    return;
  }
  own = { name, text };
  offerFiles(OWN);
  ask();
}

/** @param {string} [chosen] */
export function offerFiles(chosen) {
  const ships = stage.config.files;
  offer("file", own ? [...ships, [OWN, own.name]] : ships, chosen ?? select("file").value);
}

/** @param {string} name @param {[value: string, title: string][]} pairs @param {string} chosen */
export function offer(name, pairs, chosen) {
  const made = pairs.map(([value, title]) => new Option(title, value, false, value === chosen));
  select(name).replaceChildren(...made);
}
