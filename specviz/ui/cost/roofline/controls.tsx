// The controls: their values, their options, and functions that fill them in.

import { Stage } from "../../shared/stage";
import { there } from "../../shared/there";
import { render } from "../../shared/view";
import { linkedText, note, touch } from "../shared/address";
import { offerOptions, titled } from "../shared/fields";
import { setTerms, terms, told } from "../shared/terms";
import { SourceLink } from "./sources";

import type { Option } from "../shared/fields";
import type { Choice } from "./question.py";
import type { Config, Preset } from "./__init__.py";

export type Control = HTMLInputElement | HTMLSelectElement;

export const stage: Stage<Config> = new Stage();
export const { $ } = stage;

const named = (name: string): Control => $("[name=" + name + "]");
const NUMBERS = ["cards", "context", "overhead", "batch", "reading", "computing"];
/** Return the names of these values in the address; α and γ belong to the whole tab. */
export const ownNames = (usual: Choice) =>
  Object.keys(usual).filter((name) => name !== "alpha" && name !== "gamma");
const WRITTEN: Record<string, (value: string) => string> = {
  gamma: (value) => value,
  alpha: (value) => Number(value).toFixed(2),
  reading: (value) => value + "%",
  computing: (value) => value + "%",
};
let asked = () => {}; // sends the question

const options = (name: string, pairs: Option[]) => offerOptions(named(name), pairs);

// Offer only number formats for which the machine has a peak, and drafters with the target's
// vocabulary.
function offer() {
  const { machines, models } = stage.config;
  const dtypes = Object.keys(machines[named("hardware").value].facts);
  options(
    "dtype",
    dtypes.map((dtype) => [dtype, dtype]),
  );
  options("drafter", models[named("model").value].drafters);
}

// Return the tab's γ in the form that is possible here: whole, and not above the limit for chains.
function wholeGamma() {
  const [least, most] = stage.config.limits.gamma;
  const { gamma } = terms;
  return gamma === null ? null : Math.min(Math.max(Math.round(gamma), least), most);
}

// Return the values as typed; for an empty box, the server returns an error.
export function chosen(): Choice {
  const made: Choice = {};
  for (const name of ownNames(stage.config.usual)) {
    const { value } = named(name);
    made[name] = NUMBERS.includes(name) ? (value.trim() === "" ? null : Number(value)) : value;
  }
  return { ...made, alpha: terms.alpha, gamma: wholeGamma() };
}

// Show where α and γ come from, and which part of that does not apply here, beside the answer.
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
const same = (one: string, other: string) => one.startsWith(other) || other.startsWith(one);

function put(name: string, value: string | number | null) {
  named(name).value = String(value ?? "");
}

export function fill(values: Choice) {
  for (const name of ["hardware", "model"])
    if (Object.hasOwn(values, name)) put(name, values[name]);
  offer();
  for (const [name, value] of Object.entries(values)) put(name, value);
  // If the value is unknown, the first option is selected.
  for (const name of ["dtype", "drafter"]) {
    const select = named(name) as HTMLSelectElement;
    if (select.value === "") select.selectedIndex = 0;
  }
  show();
}

// Read the values from the link; an unavailable choice keeps its default.
function fromAddress() {
  const { usual, machines, models } = stage.config;
  const known: Record<string, object> = { hardware: machines, model: models };
  const given: Choice = {};
  for (const name of ownNames(usual)) {
    const text = linkedText(name);
    if (text !== null && (!known[name] || Object.hasOwn(known[name], text))) given[name] = text;
  }
  fill({ ...usual, ...given });
}

// Update the controls after a change of the tab's α and γ. taken: they come from a run or a source,
// which may have a drafter.
export function follow(taken: boolean) {
  const { drafter } = terms.from.alpha;
  if (taken) put("siblings", "");
  if (taken && drafter && stage.config.drafters[drafter])
    put("drafter", stage.config.drafters[drafter]);
  show();
  asked();
}

// The sliders of α and γ set the tab's values. The slider of the batch size has no name, but its
// box has.
function moved(name: string) {
  touch();
  if (name === "alpha" || name === "gamma") return setTerms({ [name]: Number(named(name).value) });
  if (name === "hardware" || name === "model") offer();
  show();
  return asked();
}

const slide: () => HTMLInputElement = () => $("[data-slide=batch]");

// Update outputs, facts, links and pressed buttons.
function show() {
  put("alpha", terms.alpha);
  put("gamma", wholeGamma());
  for (const [name, written] of Object.entries(WRITTEN)) {
    const input = named(name);
    there(input.nextElementSibling).textContent = written(input.value);
  }
  const { stops, machines, models } = stage.config;
  const batch = Number(named("batch").value);
  const far = (stop: number) => Math.abs(Math.log(stop / batch));
  slide().value = String(stops.indexOf(stops.reduce((a, b) => (far(b) < far(a) ? b : a))));
  slide().setAttribute("aria-valuetext", named("batch").value + " sequences");
  render(Facts(machines[named("hardware").value]), $("[data-facts=machines]"));
  render(Facts(models[named("model").value]), $("[data-facts=models]"));
  const now = chosen();
  render(Examples(now), $(".sv-roofline-questions"));
  remember(now);
}

// Write values that are not the defaults into the link; the tab adds α and γ.
function remember(now: Choice) {
  const { usual } = stage.config;
  const pairs = ownNames(usual).map((name) => [name, now[name] === usual[name] ? null : now[name]]);
  note("roofline", Object.fromEntries(pairs));
}

const Facts = ({ facts, sources, note }: Preset) => [
  <p class="sv-roofline-facts">{facts[named("dtype").value] + "."}</p>,
  <p class="sv-roofline-from">
    {"From: "}
    {sources.map((source, at) => [at ? ", " : "", SourceLink(source, stage.config.evidence)])}
    {". "}
    {note}
  </p>,
];

const Examples = (now: Choice) =>
  stage.config.questions.map(({ title, set }) => (
    <button
      type="button"
      key={title}
      aria-pressed={Object.entries(set).every(([name, value]) => now[name] === value)}
      onClick={() => {
        touch();
        fill(set);
        asked();
      }}
    >
      {title}
    </button>
  ));

export function startControls(ask: () => void) {
  asked = ask;
  const { machines, models, limits, stops } = stage.config;
  options("hardware", titled(machines));
  options("model", titled(models));
  for (const [name, [least, most]] of Object.entries(limits))
    Object.assign(named(name), { min: String(least), max: String(most) });
  slide().max = String(stops.length - 1);
  slide().addEventListener("input", () => put("batch", stops[Number(slide().value)]));
  $(".sv-roofline-form").addEventListener("input", (event) => {
    moved((event.target as Control).name);
  });
  fromAddress();
}
