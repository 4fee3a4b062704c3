// The quantities of the formula, each with a slider, a number box, and its meaning.

import { meaning } from "../../shared/dom";

import { boxValue } from "../shared/fields";

import type { State } from "./__init__.py";

export type Quantity = Exclude<keyof State, "map" | "widths" | "places">;

const FIELDS: [
  name: Quantity,
  symbol: string,
  title: string,
  range: [least: number, most: number, step: number],
][] = [
  ["alpha", "α", "acceptance probability", [0, 1, 0.01]],
  ["gamma", "γ", "draft tokens in a chain", [0, 16, 1]],
  ["c", "c", "cost of a draft token", [0, 1, 0.01]],
  ["verify", "v", "cost of verification", [1, 3, 0.01]],
  ["c_hat", "ĉ", "arithmetic of a draft token", [0, 1, 0.01]],
];

const short = (value: number, whole: boolean) =>
  whole || value.toFixed(3).slice(-1) !== "0" ? String(Number(value.toFixed(3))) : value.toFixed(2);

/** @param wrong The quantity that the notice is about. */
export const QuantityFields = (
  state: State,
  limits: Record<string, [least: number, most: number]>,
  wrong: string,
  change: (name: Quantity, value: number | null) => void,
) =>
  FIELDS.map(([name, symbol, title, [min, max, step]]) => {
    const value = state[name];
    const [id, box] = ["sv-law-" + name, "sv-law-box-" + name];
    const onInput = ({ currentTarget: { value } }: Event & { currentTarget: HTMLInputElement }) =>
      change(name, value === "" ? null : Number(value));
    return (
      <div class="sv-law-field" key={name} data-name={name}>
        <label for={id}>
          <b>{symbol}</b>
          {" " + title}
        </label>
        <input
          type="number"
          id={box}
          step="any"
          inputmode="decimal"
          min={limits[name][0]}
          max={limits[name][1]}
          value={boxValue(box, value === null ? "" : short(value, step === 1))}
          aria-label={symbol + " " + title + ", as a number"}
          aria-invalid={name === wrong}
          title="You can also type a number outside the slider's range."
          onInput={onInput}
        />
        <input
          type="range"
          id={id}
          min={min}
          max={max}
          step={step}
          value={value === null ? undefined : String(value)}
          aria-describedby={"sv-law-about-" + name}
          onInput={onInput}
        />
        <p class="sv-law-note" id={"sv-law-about-" + name}>
          {meaning(name)}
        </p>
      </div>
    );
  });
