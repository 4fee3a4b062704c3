// The controls: two text boxes and the deployment.

import { Stage } from "../../shared/stage.js";
import { offerOptions, titled } from "../shared/fields.js";
import { shorter } from "./shorter.js";

/** @import { Option } from "../shared/fields.js" */
/** @import { Config, Site } from "./__init__.py" */

/** @typedef {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} Control */

/** @type {Stage<Config>} */
export const stage = new Stage();
export const { $ } = stage;

/** @param {string} name @returns {Control} */
export const named = (name) => $(`[name=${name}]`);
const NUMBERS = ["cards", "context", "batch", "gamma"];

/** @param {string} name @param {Option[]} pairs */
const options = (name, pairs) => offerOptions(named(name), pairs);

// Offer only number formats for which the machine has a peak, and drafters with the target's
// vocabulary.
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
  for (const name of /** @type {const} */ (["hardware", "model"])) named(name).value = site[name];
  offer();
  for (const [name, value] of Object.entries(site)) named(name).value = String(value ?? "");
}

// Offer the models in the text; none until they are known.
/** @param {string[]} models */
export function several(models) {
  $(".sv-server-models").hidden = !models.length;
  /** @type {Option[]} */
  const pairs = models.map((name) => [name, name]);
  options("named", models.length ? [["", "choose one"], ...pairs] : []);
}

// Handle a new text, whose models are not known yet.
function anew() {
  several([]);
  $(".sv-server-from").textContent = "";
}

/** @param {string} text @param {string} [before] */
export function paste(text, before = "") {
  named("now").value = text;
  named("before").value = before;
  anew();
}

// Return the question: numbers as numbers, an empty box as null, texts without unused lines.
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

/** @param {() => void} ask */
export function startControls(ask) {
  const { machines, models, limits, start } = stage.config;
  options("hardware", titled(machines));
  options("model", titled(models));
  for (const [name, [least, most]] of Object.entries(limits))
    Object.assign(named(name), { min: String(least), max: String(most) });
  fill(start);
  $(".sv-server-body").addEventListener("input", (event) => {
    const { name } = /** @type {Control} */ (event.target);
    if (name === "hardware" || name === "model") offer();
    if (name === "now" || name === "before") anew();
    ask();
  });
}

// Show the reported values as hints in empty boxes.
/** @param {number | null} batch @param {number | null} gamma */
export function hint(batch, gamma) {
  const boxes = /** @type {HTMLInputElement[]} */ ([named("batch"), named("gamma")]);
  boxes[0].placeholder = batch ? "reported: " + batch : "not reported: 1";
  boxes[1].placeholder = gamma ? "reported: " + gamma : "not reported";
  boxes[1].disabled = Boolean(gamma);
}
