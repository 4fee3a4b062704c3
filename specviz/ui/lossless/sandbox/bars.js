// The bars of p and q. Each bar is a slider for mouse, touch and keyboard; bars share one scale.

import { el, flat, percent, word } from "../../shared/dom.js";
import { $, stage } from "./stage.js";
import { move, state } from "./state.js";

/** @import { LawName } from "./data.js" */

const ROOM = 1.12; // space above the tallest bar, so that it can be dragged higher
/** @type {Record<string, number>} */
const STRIDES = {
  ArrowUp: 0.01,
  ArrowRight: 0.01,
  ArrowDown: -0.01,
  ArrowLeft: -0.01,
  PageUp: 0.1,
  PageDown: -0.1,
  Home: -1,
  End: 1,
};
let held = 0; // the scale while a bar is dragged: it must not change under the pointer

/** The probability of a column's full height, the same in all three rows. */
export function scale() {
  if (held) return held;
  return Math.min(1, Math.max(0.2, ROOM * Math.max(...state.p, ...state.q)));
}

/** @param {number} chance */
export const high = (chance) => percent(Math.min(1, chance / scale()));

/** @param {() => void} heard Called after a bar has moved. */
export function bars(heard) {
  for (const row of stage.all("[data-law]")) {
    const name = /** @type {LawName} */ (row.dataset.law);
    row.replaceChildren(...state.words.map((_, at) => bar(name, at, heard)));
  }
  $(".sv-sand-words").replaceChildren(...state.words.map((one) => el("span", "", word(one))));
  stage.element.style.setProperty("--sv-sand-many", String(state.words.length));
  showBars();
}

/** @param {LawName} name @param {number} at @param {() => void} heard */
function bar(name, at, heard) {
  const made = el("div", "sv-sand-bar", el("i", "sv-sand-fill sv-sand-is-" + name), el("b"));
  const facts = { role: "slider", tabindex: "0", "aria-orientation": "vertical" };
  for (const [fact, value] of Object.entries(facts)) made.setAttribute(fact, value);
  made.setAttribute("aria-valuemin", "0");
  made.setAttribute("aria-valuemax", "1");
  made.setAttribute(
    "aria-label",
    (name === "p" ? "Target" : "Draft") + ": " + flat(state.words[at]),
  );
  /** @param {number} to */
  const go = (to) => {
    move(name, at, Math.round(Math.min(Math.max(to, 0), 1) * 100) / 100);
    showBars();
    heard();
  };
  /** @param {PointerEvent} event */
  const pointed = (event) => {
    const { bottom, height } = made.getBoundingClientRect();
    go(((bottom - event.clientY) / height) * scale());
  };
  made.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    held = scale();
    made.setPointerCapture(event.pointerId);
    pointed(event);
  });
  made.addEventListener("pointermove", (event) => {
    if (made.hasPointerCapture(event.pointerId)) pointed(event);
  });
  made.addEventListener("lostpointercapture", () => {
    held = 0;
    showBars();
    heard();
  });
  made.addEventListener("keydown", (event) => {
    const by = STRIDES[event.key];
    if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    go(state[name][at] + by);
  });
  return made;
}

export function showBars() {
  for (const row of stage.all("[data-law]")) {
    const law = state[/** @type {LawName} */ (row.dataset.law)];
    [...row.children].forEach((made, at) => {
      const text = law[at].toFixed(2);
      made.setAttribute("aria-valuenow", text);
      /** @type {NodeListOf<HTMLElement>} */
      const [fill, number] = made.querySelectorAll("i, b");
      fill.style.height = high(law[at]);
      number.style.bottom = high(law[at]);
      number.textContent = text;
    });
  }
}
