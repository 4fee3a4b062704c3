// The controls: two text boxes and the deployment.

import { Stage } from "../../shared/stage";
import { offerOptions, titled } from "../shared/fields";
import { shorter } from "./shorter";

import type { Option } from "../shared/fields";
import type { Config, Site } from "./__init__.py";

export type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

export const stage: Stage<Config> = new Stage();
export const { $ } = stage;

export const named = (name: string): Control => $(`[name=${name}]`);
const NUMBERS = ["cards", "context", "batch", "gamma"];

const options = (name: string, pairs: Option[]) => offerOptions(named(name), pairs);

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

export function fill(site: Site) {
  for (const name of ["hardware", "model"] as const) named(name).value = site[name];
  offer();
  for (const [name, value] of Object.entries(site)) named(name).value = String(value ?? "");
}

// Offer the models in the text; none until they are known.
export function several(models: string[]) {
  $(".sv-server-models").hidden = !models.length;
  const pairs: Option[] = models.map((name) => [name, name]);
  options("named", models.length ? [["", "choose one"], ...pairs] : []);
}

// Handle a new text, whose models are not known yet.
function anew() {
  several([]);
  $(".sv-server-from").textContent = "";
}

export function paste(text: string, before: string = "") {
  named("now").value = text;
  named("before").value = before;
  anew();
}

// Return the question: numbers as numbers, an empty box as null, texts without unused lines.
export function chosen() {
  const { names, longest, start } = stage.config;
  const made: Record<string, string | number | null> = { named: named("named").value };
  for (const name of ["now", "before"]) made[name] = shorter(named(name).value, names, longest);
  for (const name of Object.keys(start)) {
    const { value } = named(name);
    made[name] = !NUMBERS.includes(name) ? value : value === "" ? null : Number(value);
  }
  return made;
}

export function startControls(ask: () => void) {
  const { machines, models, limits, start } = stage.config;
  options("hardware", titled(machines));
  options("model", titled(models));
  for (const [name, [least, most]] of Object.entries(limits))
    Object.assign(named(name), { min: String(least), max: String(most) });
  fill(start);
  $(".sv-server-body").addEventListener("input", (event) => {
    const { name } = event.target as Control;
    if (name === "hardware" || name === "model") offer();
    if (name === "now" || name === "before") anew();
    ask();
  });
}

// Show the reported values as hints in empty boxes.
export function hint(batch: number | null, gamma: number | null) {
  const boxes = [named("batch"), named("gamma")] as HTMLInputElement[];
  boxes[0].placeholder = batch ? "reported: " + batch : "not reported: 1";
  boxes[1].placeholder = gamma ? "reported: " + gamma : "not reported";
  boxes[1].disabled = Boolean(gamma);
}
