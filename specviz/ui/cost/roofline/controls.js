// The controls: their values, their options, and filling them in from elsewhere.

import { el } from "../../shared/dom.js";
import { there } from "../../shared/there.js";
import { linkedText, note, touch } from "../shared/address.js";
import { setTerms, terms, told } from "../shared/terms.js";
import { ask } from "./ask.js";
import { $, stage } from "./stage.js";

/** @import { Choice, Control, Option, Preset, Source } from "./data.js" */

/** @param {string} name @returns {Control} */
export const named = (name) => $("[name=" + name + "]");
const NUMBERS = ["cards", "context", "overhead", "batch", "reading", "computing"];
const SLIDES = ["gamma", "alpha", "reading", "computing"];
/** @type {Record<string, (value: string) => string>} */
const WRITTEN = {
  gamma: (value) => value,
  alpha: (value) => Number(value).toFixed(2),
  reading: (value) => value + "%",
  computing: (value) => value + "%",
};

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

// The tab's γ as it can be checked here: whole, and no longer than a chain may be.
function wholeGamma() {
  const [least, most] = stage.config.limits.gamma;
  const { gamma } = terms;
  return gamma === null ? null : Math.min(Math.max(Math.round(gamma), least), most);
}

// Send what is typed as it is; the server refuses an empty box with a sentence.
/** @returns {Choice} */
export function chosen() {
  /** @type {Choice} */
  const made = {};
  for (const name of Object.keys(stage.config.usual)) {
    const { value } = named(name);
    made[name] = NUMBERS.includes(name) ? (value.trim() === "" ? null : Number(value)) : value;
  }
  return { ...made, alpha: terms.alpha, gamma: wholeGamma() };
}

// The origin of α and γ, and what of it does not apply here; shown beside the answer.
export function withWhat() {
  const { alpha: from, gamma: long } = terms.from;
  const gamma = wholeGamma();
  const target = stage.config.models[named("model").value].title;
  const wide = (long.guesses || 0) > Number(terms.gamma) + 0.01 && !named("siblings").value;
  const parts = [
    told(),
    gamma === terms.gamma ? "" : `This section uses γ = ${gamma}.`,
    from.on && !same(from.on, target)
      ? `The target here is ${target}, so expect a different α.`
      : "",
    wide
      ? `Its rounds had ${Math.round(Number(long.guesses))} draft tokens; this section verifies a chain of ${gamma} unless you enter children per node.`
      : "",
    from.kind === "run"
      ? "Its measured c is not used here: drafting time follows from the drafter’s size."
      : "",
  ];
  return parts.filter(Boolean).join(" ");
}

// "House" and "House target" are the same model.
/** @param {string} one @param {string} other */
const same = (one, other) => one.startsWith(other) || other.startsWith(one);

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

// Read a link to this question; an unavailable choice keeps its default.
export function fromAddress() {
  const { usual, machines, models } = stage.config;
  /** @type {Record<string, object>} */
  const known = { hardware: machines, model: models };
  /** @type {Choice} */
  const given = {};
  for (const name of Object.keys(usual)) {
    const text = linkedText(name);
    const ours = name !== "alpha" && name !== "gamma"; // those are the tab's
    if (text !== null && ours && (!known[name] || Object.hasOwn(known[name], text)))
      given[name] = text;
  }
  fill({ ...usual, ...given });
  for (const name of ["dtype", "drafter"]) {
    const select = named(name);
    if (select.value === "") select.value = there(select.querySelector("option")).value;
  }
  show();
}

// Follow a change of the tab's α and γ. taken: from a run or a source, which may name its drafter.
/** @param {boolean} taken */
export function follow(taken) {
  const { drafter } = terms.from.alpha;
  if (taken) put("siblings", "");
  if (taken && drafter && stage.config.drafters[drafter])
    put("drafter", stage.config.drafters[drafter]);
  show();
  ask();
}

// The sliders for α and γ set the tab's values. The batch slider has no name; its box has.
/** @param {string} name */
export function moved(name) {
  touch();
  if (name === "alpha" || name === "gamma") return setTerms({ [name]: Number(named(name).value) });
  if (name === "hardware" || name === "model") offer();
  show();
  return ask();
}

// Outputs, facts, links and pressed buttons follow the controls.
export function show() {
  put("alpha", terms.alpha);
  put("gamma", wholeGamma());
  for (const name of SLIDES) {
    const input = named(name);
    const output = there(input.parentElement).querySelector("output");
    there(output).textContent = WRITTEN[name](input.value);
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
  remember(now);
}

// Put the non-default values into the link. The tab itself adds α and γ.
/** @param {Choice} now */
function remember(now) {
  const { usual } = stage.config;
  const names = Object.keys(usual).filter((name) => name !== "alpha" && name !== "gamma");
  const said = names.map((name) => [name, now[name] === usual[name] ? null : now[name]]);
  note("roofline", Object.fromEntries(said));
}

/** @param {string} kind @param {Preset} preset */
function facts(kind, preset) {
  $("[data-facts=" + kind + "]").textContent = preset.facts[named("dtype").value] + ".";
  const links = preset.sources.flatMap((source, at) => [at ? ", " : "", link(source)]);
  $("[data-from=" + kind + "]").replaceChildren("From: ", ...links, ". ", preset.note);
}

// Name a source that is a file of this app; link one on the web.
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
      touch();
      fill(set);
      ask();
    });
    return button;
  });
  $(".sv-roofline-questions").replaceChildren(...made);
}
