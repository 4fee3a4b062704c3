// The controls: what they say, what they offer, and how others fill them in.

import { el } from "../../shared/dom.js";
import { there } from "../../shared/there.js";
import { ask } from "./ask.js";
import { $, stage } from "./stage.js";

/** @import { NamedPoint } from "../../shared/data.js" */
/** @import { Choice, Control, Option, Preset, Source } from "./data.js" */

/** @param {string} name @returns {Control} */
export const named = (name) => $("[name=" + name + "]");
const NUMBERS = ["cards", "context", "overhead", "gamma", "alpha", "batch"];

/** @param {Control} select @param {Option[]} pairs */
export function options(select, pairs) {
  const before = select.value;
  select.replaceChildren(
    ...pairs.map(([value, title]) => {
      const made = el("option", "", title);
      made.value = value;
      return made;
    }),
  );
  if (pairs.some(([value]) => value === before)) select.value = before;
}

// Only what the machine has a peak for, and only drafters with the target's vocabulary.
export function offer() {
  const machine = stage.config.machines[named("hardware").value];
  options(
    named("dtype"),
    Object.keys(machine.facts).map((dtype) => [dtype, dtype]),
  );
  options(named("drafter"), stage.config.models[named("model").value].drafters);
}

// What is typed goes to the server as it is; an empty box is no number, and it says so.
export function chosen() {
  /** @type {Choice} */
  const made = {};
  for (const name of Object.keys(stage.config.usual)) {
    const { value } = named(name);
    made[name] = NUMBERS.includes(name) ? (value.trim() === "" ? null : Number(value)) : value;
  }
  return made;
}

/** @param {string} name @param {string | number | null} value */
function put(name, value) {
  named(name).value = String(value ?? "");
}

/** @param {Choice} values */
export function fill(values) {
  for (const name of ["hardware", "model"]) if (name in values) put(name, values[name]);
  offer();
  for (const [name, value] of Object.entries(values)) put(name, value);
  show();
}

// Outputs, facts, links and pressed buttons follow the controls.
export function show() {
  for (const name of ["gamma", "alpha"]) {
    const input = named(name);
    const text = name === "alpha" ? Number(input.value).toFixed(2) : input.value;
    const output = there(input.parentElement).querySelector("output");
    there(output).textContent = text;
  }
  const batch = Number(named("batch").value);
  /** @param {number} stop */
  const far = (stop) => Math.abs(Math.log(stop / batch));
  const nearest = stage.config.stops.reduce((a, b) => (far(b) < far(a) ? b : a));
  /** @type {HTMLInputElement} */
  const slide = $("[data-slide=batch]");
  slide.value = String(stage.config.stops.indexOf(nearest));
  slide.setAttribute("aria-valuetext", named("batch").value + " sequences");
  facts("machines", stage.config.machines[named("hardware").value]);
  facts("models", stage.config.models[named("model").value]);
  const now = chosen();
  for (const button of stage.all(".sv-roofline-questions button")) {
    const { set } = stage.config.questions[Number(button.dataset.at)];
    const all = Object.entries(set).every(([name, value]) => now[name] === value);
    button.setAttribute("aria-pressed", String(all));
  }
}

/** @param {string} kind @param {Preset} preset */
function facts(kind, preset) {
  $("[data-facts=" + kind + "]").textContent = preset.facts[named("dtype").value] + ".";
  const links = preset.sources.flatMap((source, at) => [at ? ", " : "", link(source)]);
  $("[data-from=" + kind + "]").replaceChildren("From: ", ...links, ". ", preset.note);
}

// A source that is a file of this app is named; one on the web is a link.
/** @param {Source} source */
export function link([title, url, evidence]) {
  const mark = el("b", "sv-roofline-letter", evidence);
  mark.title = stage.config.evidence[evidence];
  if (!url.startsWith("https://")) return el("span", "", title + " (" + url + ") ", mark);
  const made = el("a", "", title);
  made.href = url;
  made.target = "_blank";
  made.rel = "noopener";
  return el("span", "", made, " ", mark);
}

export function questions() {
  const made = stage.config.questions.map(({ title, set }, at) => {
    const button = el("button", "", title);
    button.type = "button";
    button.dataset.at = String(at);
    button.addEventListener("click", () => {
      fill(set);
      ask();
    });
    return button;
  });
  $(".sv-roofline-questions").replaceChildren(...made);
}

// Another section's run, or the last one that was measured: its α and γ, as this section's sliders have them.
/** @param {{ alpha: number, gamma: number }} run */
const fitting = ({ alpha, gamma }) => ({
  alpha: Number(Math.min(Math.max(alpha, 0), 1).toFixed(2)),
  gamma: Math.min(Math.max(Math.round(gamma), 0), stage.config.limits.gamma[1]),
});
/** @type {(run: NamedPoint | null | undefined) => run is NamedPoint} */
const whole = (run) =>
  run !== null && run !== undefined && Number.isFinite(run.alpha) && Number.isFinite(run.gamma);

/** @param {NamedPoint | null | undefined} run */
export function take(run) {
  if (!whole(run)) return;
  const { alpha, gamma } = fitting(run);
  fill({ alpha, gamma, siblings: "" });
  const many =
    run.guesses > run.gamma + 0.01
      ? " It drafted " +
        Math.round(run.guesses) +
        " guesses in a tree; here only a chain as deep is checked, until you type its siblings."
      : "";
  const cost = Number.isFinite(run.c)
    ? " Its c stays behind: here drafting costs what the drafter’s shape says."
    : "";
  const said =
    "α " +
    alpha.toFixed(2) +
    " and γ " +
    gamma +
    " are those of “" +
    (run.name || "the last run") +
    "”." +
    many +
    cost;
  $(".sv-roofline-taken").textContent = said;
  $(".sv-roofline-taken").hidden = false;
  ask();
}

// The player says where the last measured run stands.
export function showTake() {
  const run = window.specviz.measured;
  const button = $(".sv-roofline-take");
  button.hidden = true;
  if (!whole(run)) return;
  button.hidden = false;
  const { alpha, gamma } = fitting(run);
  button.textContent =
    "Take α " +
    alpha.toFixed(2) +
    " and γ " +
    gamma +
    " of the last run, " +
    (run.name || "unnamed");
}
