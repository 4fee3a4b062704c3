// The controls: a preset, how guesses are chosen, how many, the rule and its parameters.

import { el } from "../../shared/dom.js";
import { there } from "../../shared/there.js";
import { $, stage } from "./stage.js";
import { state } from "./state.js";

/** @import { Choice, Preset, RuleRow } from "./data.js" */

const OWN = "Your own p and q";

/** @param {(laws: boolean) => void} changed laws: whether p or q have changed, too. */
export function controls(changed) {
  const { presets, rules, drawn, most } = stage.config;
  presetList(presets, changed);
  ruleList(rules, changed);
  choices("drawn", drawn, () => changed(false));
  const many = Array.from({ length: most }, (_, at) => ({ value: at + 1, title: String(at + 1) }));
  choices("candidates", many, () => changed(false));
  $(".sv-sand-asked").addEventListener("submit", (event) => event.preventDefault());
}

/** @param {Preset[]} presets @param {(laws: boolean) => void} changed */
function presetList(presets, changed) {
  /** @type {HTMLSelectElement} */
  const list = $("#sv-sand-preset");
  list.replaceChildren(
    ...presets.map(({ name, title }) => new Option(title, name)),
    new Option(OWN, ""),
  );
  list.addEventListener("change", () => {
    const preset = presets.find(({ name }) => name === list.value);
    if (!preset) return showControls();
    load(preset);
    changed(true);
  });
}

/** @param {Preset} preset */
export function load({ name, words, p, q, rule }) {
  Object.assign(state, { words, p, q, preset: name, from: "" });
  if (!rule) return;
  Object.assign(state, { drawn: "sampled", candidates: 1 });
  choose(rule);
}

/** @param {RuleRow[]} rules @param {(laws: boolean) => void} changed */
function ruleList(rules, changed) {
  /** @type {HTMLSelectElement} */
  const list = $("#sv-sand-rule");
  const groups = [...new Set(rules.map(({ group }) => group))];
  list.replaceChildren(
    ...groups.map((name) => {
      const made = el("optgroup");
      made.label = name;
      const own = rules.filter(({ group }) => group === name);
      made.append(...own.map((rule) => new Option(rule.title, rule.name)));
      return made;
    }),
  );
  list.addEventListener("change", () => {
    choose(list.value);
    changed(false);
  });
}

/** @param {string} name @param {number[]} [dials] */
export function choose(name, dials) {
  state.rule = name;
  state.dials = dials || rowOf(name).dials.map(({ usual }) => usual);
}

/** @param {string} name */
const rowOf = (name) => there(stage.config.rules.find((row) => row.name === name));

/**
 * @template {string | number} Value
 * @param {"drawn" | "candidates"} name
 * @param {Choice<Value>[]} all
 * @param {() => void} changed
 */
function choices(name, all, changed) {
  const place = $(`[data-choice=${name}]`);
  place.replaceChildren(
    ...all.map(({ value, title }) => {
      const made = el("button", "", title);
      made.type = "button";
      made.dataset.value = String(value);
      made.addEventListener("click", () => {
        Object.assign(state, { [name]: value });
        changed();
      });
      return made;
    }),
  );
}

/** Show the state in the controls, with the chosen rule's parameters. @param {() => void} [changed] */
export function showControls(changed) {
  for (const place of stage.all("[data-choice]")) {
    const value = String(state[/** @type {"drawn" | "candidates"} */ (place.dataset.choice)]);
    for (const button of place.children) {
      const own = /** @type {HTMLElement} */ (button).dataset.value;
      button.setAttribute("aria-pressed", String(own === value));
    }
  }
  /** @type {HTMLSelectElement} */
  const presets = $("#sv-sand-preset");
  presets.value = state.preset;
  const few = state.from + ": the likeliest words, with p and q each rescaled to sum to 1.";
  $("#sv-sand-from").textContent = state.from && few;
  $(".sv-sand-from").hidden = !state.from;
  /** @type {HTMLSelectElement} */
  const rules = $("#sv-sand-rule");
  rules.value = state.rule;
  const row = rowOf(state.rule);
  $(".sv-sand-about").textContent = row.about;
  if (changed)
    $(".sv-sand-dials").replaceChildren(...row.dials.map((_, at) => dial(row, at, changed)));
}

/** @param {RuleRow} row @param {number} at @param {() => void} changed */
function dial(row, at, changed) {
  const { name, least, most, means } = row.dials[at];
  const whole = least === 1 && most > 1;
  const slider = el("input");
  const top = whole ? Math.min(most, state.words.length) : most;
  Object.assign(slider, { type: "range", min: least, max: top, step: whole ? 1 : 0.01 });
  slider.value = String(state.dials[at]);
  const shown = el("output", "", slider.value);
  const label = el(
    "label",
    "sv-sand-dial",
    el("span", "", el("b", "", name), ": " + means),
    shown,
    slider,
  );
  slider.addEventListener("input", () => {
    state.dials[at] = Number(slider.value);
    shown.textContent = slider.value;
    changed();
  });
  return label;
}
