// The controls: presets, how guesses are chosen, how many, the rule and its parameters.

import { Button, h } from "../../shared/view.js";
import { choose, load, ruleOf, stage, state } from "./state.js";

/** @import { RuleRow } from "./__init__.py" */
/** @typedef {{ currentTarget: HTMLSelectElement }} Chosen */

const OWN = "Your own p and q";
const RESCALED = ": the likeliest tokens, with p and q each rescaled to sum to 1.";

/**
 * @param {object} callbacks
 * @param {() => void} callbacks.changed The state has changed.
 * @param {() => void} callbacks.reveal Show the output, which the new rule changes.
 * @param {() => void} callbacks.undo
 */
export function Controls({ changed, reveal, undo }) {
  const { drawn, most } = stage.config;
  const counts = Array.from({ length: most }, (_, at) => ({ value: at + 1, title: "" + (at + 1) }));
  const rule = ruleOf(state.rule);
  return [
    h("label", { class: "sv-sand-label", for: "sv-sand-preset" }, "Starting distributions"),
    PresetList(changed),
    h(
      "p",
      { class: "sv-sand-from", hidden: !state.from },
      h("span", { id: "sv-sand-from" }, state.from && state.from + RESCALED),
      " ",
      Button("Undo", undo, { class: "sv-sand-undo" }),
    ),
    Switch("drawn", "How is a guess chosen?", drawn, changed),
    Switch("candidates", "How many guesses for this position?", counts, changed),
    h("label", { class: "sv-sand-label", for: "sv-sand-rule" }, "Which rule judges it?"),
    RuleList(() => {
      changed();
      reveal();
    }),
    h(
      "div",
      { class: "sv-sand-dials" },
      ...rule.parameters.map((_, at) => ParameterSlider(rule, at, changed)),
    ),
    h("p", { class: "sv-sand-about" }, rule.about),
  ];
}

/** @param {{ name: string, title: string }} choice */
const Option = ({ name, title }) => h("option", { value: name }, title);

/** @param {() => void} changed */
function PresetList(changed) {
  const { presets } = stage.config;
  /** @param {Chosen} event */
  const onChange = ({ currentTarget }) => {
    const preset = presets.find(({ name }) => name === currentTarget.value);
    if (preset) load(preset);
    changed();
  };
  return h(
    "select",
    { id: "sv-sand-preset", "aria-describedby": "sv-sand-from", value: state.preset, onChange },
    ...[...presets, { name: "", title: OWN }].map(Option),
  );
}

/** @param {() => void} changed */
function RuleList(changed) {
  const { rules } = stage.config;
  /** @param {Chosen} event */
  const onChange = ({ currentTarget }) => {
    choose(currentTarget.value);
    changed();
  };
  const groups = [...new Set(rules.map(({ group }) => group))].map((label) =>
    h("optgroup", { label }, ...rules.filter(({ group }) => group === label).map(Option)),
  );
  return h("select", { id: "sv-sand-rule", value: state.rule, onChange }, ...groups);
}

/**
 * @param {"drawn" | "candidates"} name
 * @param {string} legend
 * @param {{ value: string | number, title: string }[]} choices
 * @param {() => void} changed
 */
function Switch(name, legend, choices, changed) {
  const buttons = choices.map(({ value, title }) => {
    const choose = () => {
      Object.assign(state, { [name]: value });
      changed();
    };
    return Button(title, choose, { "aria-pressed": state[name] === value });
  });
  return h(
    "fieldset",
    { class: "sv-sand-field" },
    h("legend", null, legend),
    h("div", { class: "sv-sand-switch", "data-choice": name }, ...buttons),
  );
}

/** @param {RuleRow} rule @param {number} at @param {() => void} changed */
function ParameterSlider(rule, at, changed) {
  const { name, least, most, meaning, whole } = rule.parameters[at];
  const value = state.parameters[at];
  return h(
    "label",
    { class: "sv-sand-dial", key: rule.name + at },
    h("span", null, h("b", null, name), ": " + meaning),
    h("output", null, value),
    h("input", {
      type: "range",
      min: least,
      max: whole ? Math.min(most, state.words.length) : most,
      step: whole ? 1 : 0.01,
      value,
      onInput: ({ currentTarget }) => {
        state.parameters[at] = Number(currentTarget.value);
        changed();
      },
    }),
  );
}
