// The controls: two texts, the deployment, and the buttons.

import { el } from "../../shared/dom.js";
import { there } from "../../shared/there.js";
import { ask } from "./ask.js";
import { shorter } from "./shorter.js";
import { $, stage } from "./stage.js";

/** @import { Control, Option, Site } from "./data.js" */

/** @param {string} name @returns {Control} */
export const named = (name) => $(`[name=${name}]`);
const NUMBERS = ["cards", "context", "batch", "gamma"];

/** @param {string} name @param {Option[]} pairs */
function options(name, pairs) {
  const select = named(name);
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
function offer() {
  const { machines, models } = stage.config;
  const { dtypes } = machines[named("hardware").value];
  options(
    "dtype",
    dtypes.map((dtype) => [dtype, dtype]),
  );
  options("drafter", models[named("model").value].drafters);
}

/** @param {Site} site */
export function fill(site) {
  for (const name of ["hardware", "model"]) named(name).value = String(site[name]);
  offer();
  for (const [name, value] of Object.entries(site)) named(name).value = String(value ?? "");
}

// The text covers several models: offer them to choose from.
/** @param {string[]} models */
export function several(models) {
  $(".sv-server-models").hidden = false;
  options("named", [
    ["", "choose one"],
    ...models.map((name) => /** @type {Option} */ ([name, name])),
  ]);
}

// A new text: its models are not known yet.
export function anew() {
  $(".sv-server-models").hidden = true;
  options("named", []);
  $(".sv-server-from").textContent = "";
}

/** @param {string} text @param {string} [before] */
export function paste(text, before = "") {
  named("now").value = text;
  named("before").value = before;
  anew();
}

// The question: numbers as numbers, an empty box as null, texts without what is never read.
export function chosen() {
  const { names, longest, start } = stage.config;
  /** @type {Record<string, string | number | null>} */
  const made = { named: named("named").value };
  for (const name of ["now", "before"]) made[name] = shorter(named(name).value, names, longest);
  for (const name of Object.keys(start)) {
    const { value } = named(name);
    made[name] = !NUMBERS.includes(name) ? value : value === "" ? null : Number(value);
  }
  return made;
}

export function wire() {
  const { machines, models, limits, start } = stage.config;
  /** @param {Record<string, { title: string }>} presets @returns {Option[]} */
  const titled = (presets) => Object.entries(presets).map(([name, { title }]) => [name, title]);
  options("hardware", titled(machines));
  options("model", titled(models));
  for (const [name, [least, most]] of Object.entries(limits)) {
    const box = /** @type {HTMLInputElement} */ (named(name));
    [box.min, box.max] = [String(least), String(most)];
  }
  fill(start);
  $(".sv-server-body").addEventListener("input", (event) => {
    const { name } = /** @type {Control} */ (event.target);
    if (name === "hardware" || name === "model") offer();
    if (name === "now" || name === "before") anew();
    ask();
  });
}

// Show the reported value as a hint while its box is empty.
/** @param {number | null} batch @param {number | null} gamma */
export function hint(batch, gamma) {
  for (const [name, value] of Object.entries({ batch, gamma })) {
    const box = /** @type {HTMLInputElement} */ (named(name));
    box.placeholder = value
      ? "reported: " + value
      : name === "batch"
        ? "not reported: 1"
        : "not reported";
  }
  /** @type {HTMLInputElement} */ (there(named("gamma"))).disabled = Boolean(gamma);
}
