// The controls: a slider and a number box for each quantity, and two boxes of text for the tree.

import { el, meaning } from "../../shared/dom.js";
import { ask } from "./ask.js";
import { stage } from "./stage.js";
import { state } from "./state.js";

const LIVE = new URLSearchParams(location.search);
const STEPPED = "The number can be typed, too, beyond the slider's ends.";

function field(row) {
  const { name, least = "0", most, step } = row.dataset;
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

const short = (value, whole) =>
  whole || value.toFixed(3).slice(-1) !== "0" ? String(Number(value.toFixed(3))) : value.toFixed(2);

// What the sliders and boxes say; the box that somebody types in is left alone.
export function showFields() {
  for (const row of stage.element.querySelectorAll(".sv-law-field")) {
    const value = state[row.dataset.name];
    if (value === null) continue;
    const [box, slider] = [row.querySelector("[type=number]"), row.querySelector("[type=range]")];
    slider.value = value;
    if (document.activeElement !== box) box.value = short(value, row.dataset.step === "1");
  }
}

function change(name, value) {
  state[name] = value;
  showFields();
  ask();
}

// ?alpha=0.8&gamma=5&c=0.05 in the page's address: a lesson can link to a place on the law.
function fromAddress() {
  for (const name of ["alpha", "gamma", "c", "verify"]) {
    const given = LIVE.get(name);
    if (given !== null && given.trim() !== "" && Number.isFinite(Number(given)))
      state[name] = Number(given);
  }
}

export function fields() {
  Object.assign(state, stage.config.start);
  fromAddress();
  stage.element.querySelectorAll(".sv-law-field").forEach(field);
  for (const box of stage.element.querySelectorAll("[data-text]")) {
    box.value = state[box.dataset.text];
    box.addEventListener("input", () => change(box.dataset.text, box.value));
  }
  for (const form of stage.element.querySelectorAll("form"))
    form.addEventListener("submit", (event) => event.preventDefault());
  for (const button of stage.element.querySelectorAll("[data-map]")) {
    button.addEventListener("click", () => {
      change("map", button.dataset.map);
    });
  }
  showFields();
}
