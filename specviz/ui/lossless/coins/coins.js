// Run the sandbox's experiment many times with random numbers, and fill the columns step by step.

import { el, flat, percent, word } from "../../shared/dom.js";
import { Question } from "../../shared/ask.js";
import { there } from "../../shared/there.js";
import { whisker } from "../shared/whisker.js";
import { showBoard } from "./board.js";
import { $, stage } from "./stage.js";

/** @import { Refusal, Start } from "../../shared/data.js" */
/** @import { Config, Pour, Sandbox, Thrown } from "./data.js" */

const SILENT = "The server does not answer. Try again.";
const POURING = 45; // milliseconds per animation step
/** @type {Question<Thrown>} */
const question = new Question("coins", () => tell(SILENT));
let throws = 0;
let pouring = 0;
let fresh = false; // whether the columns belong to the sandbox's current state

const sandbox = () => /** @type {Sandbox} */ (there(window.specviz.sandbox));

const request = () => ({ ...sandbox().request(), throws });

/** @param {string} sentence */
function tell(sentence) {
  $(".sv-coins-notice").textContent = sentence;
  $(".sv-coins-notice").hidden = !sentence;
}

/** @param {Thrown | Refusal} answer */
function show(answer) {
  tell(answer.problem || "");
  if (answer.problem !== undefined) return;
  fresh = true;
  $(".sv-coins-body").hidden = false;
  const { words } = sandbox().state;
  stage.element.style.setProperty("--sv-sand-many", String(words.length));
  $(".sv-coins-words").replaceChildren(...words.map((one) => el("span", "", word(one))));
  $(".sv-coins-said").textContent = answer.said;
  for (const place of stage.all("[data-number]"))
    place.textContent = answer.numbers[there(place.dataset.number)];
  showBoard(answer.darts);
  clearTimeout(pouring);
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  pour(answer, calm ? answer.pours.length - 1 : 0);
}

/** @param {Thrown} answer @param {number} at */
function pour(answer, at) {
  const over = at === answer.pours.length - 1;
  columns(answer.pours[at], over ? answer.intervals : []);
  $(".sv-coins-count").textContent = answer.pours[at].thrown.toLocaleString("en") + " rounds";
  if (!over) pouring = window.setTimeout(() => pour(answer, at + 1), POURING);
}

/** @param {Pour} pour @param {[number, number][]} intervals */
function columns({ thrown, kept, filled }, intervals) {
  const { p, words } = sandbox().state;
  const shares = p.map((_, at) => (kept[at] + filled[at]) / thrown);
  const most = Math.min(1, Math.max(0.2, 1.15 * Math.max(...p, ...shares)));
  /** @param {number} share */
  const high = (share) => percent(Math.min(1, share / most));
  const made = p.map((chance, at) => {
    const parts = ["kept", "filled", "outline"].map((name) => el("i", "sv-sand-" + name));
    parts[0].style.height = high(kept[at] / thrown);
    parts[1].style.height = high(filled[at] / thrown);
    parts[1].style.bottom = high(kept[at] / thrown);
    parts[2].style.height = high(chance);
    const number = el("b", "", shares[at].toFixed(3));
    number.style.bottom = high(Math.max(shares[at], chance, intervals[at]?.[1] || 0));
    return el("div", "sv-sand-column", ...parts, whisker(intervals[at], high), number);
  });
  $(".sv-coins-columns").replaceChildren(...made);
  const said = words.map((one, at) => flat(one) + " " + shares[at].toFixed(3));
  $(".sv-coins-columns").setAttribute("aria-label", "Output: " + said.join(", "));
}

// The sandbox has changed, so the counts no longer belong to it.
function stale() {
  if (!fresh) return;
  fresh = false;
  clearTimeout(pouring);
  $(".sv-coins-body").hidden = true;
  $(".sv-coins-count").textContent = "";
}

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  question.wire(request, show);
  window.specviz.coins = { request };
  $(".sv-coins-buttons").replaceChildren(
    ...config.throws.map((many) => {
      const made = el("button", "sv-button", "Run " + many.toLocaleString("en") + " rounds");
      made.type = "button";
      made.addEventListener("click", () => {
        throws = many;
        question.ask();
      });
      return made;
    }),
  );
  const wait = () => (window.specviz.sandbox ? sandbox().onAnswer(stale) : setTimeout(wait, 50));
  wait();
}
