// The controls: presets, how guesses are chosen, how many, the rule and its parameters.

import { Button } from "../../shared/view";
import { choose, load, ruleOf, stage, state } from "./state";

import type { RuleRow } from "./__init__.py";
export type Chosen = { currentTarget: HTMLSelectElement };

const OWN = "Your own p and q";
const RESCALED = ": the likeliest tokens, with p and q each rescaled to sum to 1.";

export function Controls({
  changed,
  reveal,
  undo,
}: {
  /** The state has changed. */
  changed: () => void;
  /** Show the output, which the new rule changes. */
  reveal: () => void;
  undo: () => void;
}) {
  const { drawn, most } = stage.config;
  const counts = Array.from({ length: most }, (_, at) => ({ value: at + 1, title: "" + (at + 1) }));
  const rule = ruleOf(state.rule);
  return [
    <label class="sv-sand-label" for="sv-sand-preset">
      Starting distributions
    </label>,
    PresetList(changed),
    <p class="sv-sand-from" hidden={!state.from}>
      <span id="sv-sand-from">{state.from && state.from + RESCALED}</span>{" "}
      {Button("Undo", undo, { class: "sv-sand-undo" })}
    </p>,
    Switch("drawn", "How is a guess chosen?", drawn, changed),
    Switch("candidates", "How many guesses for this position?", counts, changed),
    <label class="sv-sand-label" for="sv-sand-rule">
      Which rule judges it?
    </label>,
    RuleList(() => {
      changed();
      reveal();
    }),
    <div class="sv-sand-dials">
      {rule.parameters.map((_, at) => ParameterSlider(rule, at, changed))}
    </div>,
    <p class="sv-sand-about">{rule.about}</p>,
  ];
}

const Option = ({ name, title }: { name: string; title: string }) => (
  <option value={name}>{title}</option>
);

function PresetList(changed: () => void) {
  const { presets } = stage.config;
  const onChange = ({ currentTarget }: Chosen) => {
    const preset = presets.find(({ name }) => name === currentTarget.value);
    if (preset) load(preset);
    changed();
  };
  return (
    <select
      id="sv-sand-preset"
      aria-describedby="sv-sand-from"
      value={state.preset}
      onChange={onChange}
    >
      {[...presets, { name: "", title: OWN }].map(Option)}
    </select>
  );
}

function RuleList(changed: () => void) {
  const { rules } = stage.config;
  const onChange = ({ currentTarget }: Chosen) => {
    choose(currentTarget.value);
    changed();
  };
  const groups = [...new Set(rules.map(({ group }) => group))].map((label) => (
    <optgroup label={label}>{rules.filter(({ group }) => group === label).map(Option)}</optgroup>
  ));
  return (
    <select id="sv-sand-rule" value={state.rule} onChange={onChange}>
      {groups}
    </select>
  );
}

function Switch(
  name: "drawn" | "candidates",
  legend: string,
  choices: { value: string | number; title: string }[],
  changed: () => void,
) {
  const buttons = choices.map(({ value, title }) => {
    const choose = () => {
      Object.assign(state, { [name]: value });
      changed();
    };
    return Button(title, choose, { "aria-pressed": state[name] === value });
  });
  return (
    <fieldset class="sv-sand-field">
      <legend>{legend}</legend>
      <div class="sv-sand-switch" data-choice={name}>
        {buttons}
      </div>
    </fieldset>
  );
}

function ParameterSlider(rule: RuleRow, at: number, changed: () => void) {
  const { name, least, most, meaning, whole } = rule.parameters[at];
  const value = state.parameters[at];
  return (
    <label class="sv-sand-dial" key={rule.name + at}>
      <span>
        <b>{name}</b>
        {": " + meaning}
      </span>
      <output>{value}</output>
      <input
        type="range"
        min={least}
        max={whole ? Math.min(most, state.words.length) : most}
        step={whole ? 1 : 0.01}
        value={value}
        onInput={({ currentTarget }) => {
          state.parameters[at] = Number(currentTarget.value);
          changed();
        }}
      />
    </label>
  );
}
