// The controls: a slider and a number box for each quantity, and two boxes of text for the tree.

import { el, meaning } from "../../shared/dom.js";
import { there } from "../../shared/there.js";
import { linked, linkedText, touch } from "../shared/address.js";
import { begin, onTerms, setTerms, terms } from "../shared/terms.js";
import { ask } from "./ask.js";
import { stage } from "./stage.js";
import { state } from "./state.js";

/** @import { MapName, Quantity, State, Text } from "./data.js" */

/** @type {("c" | "verify" | "c_hat")[]} */
const OWN = ["c", "verify", "c_hat"];
/** @type {Text[]} */
const TEXTS = ["widths", "places"];
const STEPPED = "You can also type a number outside the slider's range.";

/** @param {HTMLElement} row */
function field(row) {
  const { least = "0", most, step } = row.dataset;
  const name = quantityOf(row);
  const slider = el("input"),
    box = el("input");
  Object.assign(slider, { type: "range", min: least, max: most, step, id: "sv-law-" + name });
  Object.assign(box, {
    type: "number",
    step,
    min: stage.config.limits[name][0],
    max: stage.config.limits[name][1],
  });
  box.setAttribute("aria-label", row.textContent.trim() + ", as a number");
  box.title = STEPPED;
  slider.addEventListener("input", () => change(name, Number(slider.value)));
  box.addEventListener("input", () => change(name, box.value === "" ? null : Number(box.value)));
  const note = el("p", "sv-law-note", meaning(name));
  note.id = "sv-law-about-" + name;
  slider.setAttribute("aria-describedby", note.id);
  row.append(box, slider, note);
}

/** @param {number} value @param {boolean} whole */
const short = (value, whole) =>
  whole || value.toFixed(3).slice(-1) !== "0" ? String(Number(value.toFixed(3))) : value.toFixed(2);

/** @param {HTMLElement} row */
const quantityOf = (row) => /** @type {Quantity} */ (row.dataset.name);

/** @param {HTMLElement} row @param {"number" | "range"} type */
function input(row, type) {
  /** @type {HTMLInputElement | null} */
  const found = row.querySelector("[type=" + type + "]");
  return there(found);
}

// Write the state into sliders and boxes, except the box that has the focus.
export function showFields() {
  for (const row of stage.all(".sv-law-field")) {
    const value = state[quantityOf(row)];
    if (value === null) continue;
    const [box, slider] = [input(row, "number"), input(row, "range")];
    slider.value = String(value);
    if (document.activeElement !== box) box.value = short(value, row.dataset.step === "1");
  }
}

/** @type {<Name extends keyof State>(name: Name, value: State[Name]) => void} */
function change(name, value) {
  state[name] = value;
  touch();
  if (name === "alpha" || name === "gamma") return setTerms({ [name]: value });
  showFields();
  ask();
}

// α and γ belong to the whole tab; the first two sliders of this section show them.
function follow() {
  state.alpha = terms.alpha;
  state.gamma = terms.gamma;
  showFields();
}

// ?alpha=0.8&gamma=5&c=0.05 in the page's address: a lesson can link to these values.
function fromAddress() {
  for (const name of OWN) state[name] = linked(name) ?? stage.config.start[name];
  for (const name of TEXTS) state[name] = linkedText(name) ?? stage.config.start[name];
  if (linkedText("map") === "c") state.map = "c";
}

export function fields() {
  Object.assign(state, stage.config.start);
  begin(stage.config.terms);
  fromAddress();
  stage.all(".sv-law-field").forEach(field);
  /** @type {HTMLInputElement[]} */
  const boxes = stage.all("[data-text]");
  for (const box of boxes) {
    const name = /** @type {Text} */ (box.dataset.text);
    box.value = state[name];
    box.addEventListener("input", () => change(name, box.value));
  }
  for (const form of stage.all("form"))
    form.addEventListener("submit", (event) => event.preventDefault());
  for (const button of stage.all("[data-map]")) {
    const name = /** @type {MapName} */ (button.dataset.map);
    button.addEventListener("click", () => change("map", name));
  }
  follow();
  onTerms(() => {
    follow();
    ask();
  });
}
