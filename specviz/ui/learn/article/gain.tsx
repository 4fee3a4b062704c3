// The speed-up for three values that the reader sets: tokens per round as lengths that add up, the
// time of a round in the same unit, and the speed-up by the number of guesses.

import { Button, render } from "../../shared/view";

import type { ComponentChild } from "preact";
import type { Gain } from "../figures.py";

interface Values {
  alpha: number;
  gamma: number;
  c: number;
}

/** Return 1, α, α², … α^γ: how probable it is that a round adds each of its tokens. */
export const terms = ({ alpha, gamma }: Values) =>
  Array.from({ length: gamma + 1 }, (_, at) => alpha ** at);

const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);

/** Return tokens per round, the time of a round in plain passes, and their ratio. */
export function gainOf(values: Values) {
  const tokens = sum(terms(values));
  const time = 1 + values.gamma * values.c;
  return { tokens, time, speedup: tokens / time };
}

/** Return the γ with the largest speed-up, the smallest if there are several. */
export function bestGamma(values: Values, most: number) {
  const speed = (gamma: number) => gainOf({ ...values, gamma }).speedup;
  let best = 0;
  for (let gamma = 1; gamma <= most; gamma++) if (speed(gamma) > speed(best) + 1e-12) best = gamma;
  return best;
}

const SLIDERS: [name: keyof Values, symbol: string, meaning: string][] = [
  ["alpha", "α", "probability that a guess is accepted"],
  ["gamma", "γ", "guesses per round"],
  ["c", "c", "cost of a guess, in target passes"],
];
const NARROW = 26; // px of a part that is too narrow for its name
const HIGH = 200; // px of the curve
const EDGES = { left: 38, right: 14, top: 14, bottom: 30 };

/** @param curved Whether the speed-up by the number of guesses is drawn, too. */
export function startGain(element: HTMLElement, given: Gain, curved = true) {
  const { most, measured } = given;
  const start = { alpha: given.alpha, gamma: given.gamma, c: given.c };
  const values: Values = { ...start };
  let width = element.clientWidth;

  function show() {
    const found = gainOf(values);
    const unit = width / Math.max(found.tokens, found.time);
    const own = SLIDERS.every(([name]) => values[name] === start[name]);
    render(
      [
        <div class="sv-gain-sliders">
          {SLIDERS.map(([name, ...texts]) => Slider(name, ...texts))}
        </div>,
        Lengths("Tokens per round", found.tokens, tokenParts(values), unit),
        Lengths("Time of a round, in plain passes", found.time, timeParts(values), unit),
        Said(found, own),
        curved && [<p>Speed-up by the number of guesses:</p>, Curve(values, most, width)],
        Button("Back to the run’s values", reset, { class: "sv-button", disabled: own }),
      ],
      element,
    );
  }

  const reset = () => {
    Object.assign(values, start);
    show();
  };

  function Slider(name: keyof Values, symbol: string, meaning: string) {
    const whole = name === "gamma";
    return (
      <label>
        <span>
          <b>{symbol}</b> {meaning}
        </span>
        <output>{whole ? values[name] : values[name].toFixed(2)}</output>
        <input
          type="range"
          min={0}
          max={whole ? most : 1}
          step={whole ? 1 : 0.01}
          value={values[name]}
          onInput={({ currentTarget }) => {
            values[name] = Number(currentTarget.value);
            show();
          }}
        />
      </label>
    );
  }

  function Said({ tokens, time, speedup }: ReturnType<typeof gainOf>, own: boolean) {
    const best = bestGamma(values, most);
    const top = gainOf({ ...values, gamma: best }).speedup;
    return (
      <p class="said sv-gain-said" aria-live="polite">
        {tokens.toFixed(2)} tokens in the time of {time.toFixed(2)}:{" "}
        <b>{speedup.toFixed(2)} times the speed of plain decoding.</b> {bestSaid(best, top)}
        {own ? ` The run itself was measured at ${measured}.` : null}
      </p>
    );
  }

  function bestSaid(best: number, top: number) {
    if (!best) return "No number of guesses pays, since α is not larger than c.";
    if (best === values.gamma) return "No other γ up to " + most + " is faster.";
    return `The fastest γ is ${best}: ${top.toFixed(2)} times.`;
  }

  new ResizeObserver(() => {
    width = element.clientWidth;
    show();
  }).observe(element);
  show();
}

type LengthPart = [kind: string, length: number, name: ComponentChild];

const power = (at: number): ComponentChild => [at ? "α" : "1", at > 1 ? <sup>{at}</sup> : null];
const tokenParts = (values: Values): LengthPart[] =>
  terms(values).map((length, at) => [at ? "kept" : "target", length, power(at)]);
const timeParts = ({ gamma, c }: Values): LengthPart[] => [
  ["pass", 1, "1"],
  ...Array.from({ length: gamma }, (): LengthPart => ["guess", c, "c"]),
];

const Lengths = (title: string, total: number, parts: LengthPart[], unit: number) => (
  <div class="sv-gain-lengths">
    <p>
      {title}: <b>{total.toFixed(2)}</b>
    </p>
    <div aria-hidden="true">
      {parts.map(([kind, length, name]) => (
        <i class={"sv-gain-" + kind} style={{ width: (length * unit).toFixed(2) + "px" }}>
          {length * unit > NARROW ? name : null}
        </i>
      ))}
    </div>
  </div>
);

function Curve(values: Values, most: number, width: number) {
  const speeds = Array.from(
    { length: most + 1 },
    (_, gamma) => gainOf({ ...values, gamma }).speedup,
  );
  const top = Math.max(2, Math.ceil(1.1 * Math.max(...speeds)));
  const x = (gamma: number) => EDGES.left + (gamma / most) * (width - EDGES.left - EDGES.right);
  const y = (speed: number) => EDGES.top + (1 - speed / top) * (HIGH - EDGES.top - EDGES.bottom);
  const points = speeds.map((speed, gamma) => `${x(gamma).toFixed(1)},${y(speed).toFixed(1)}`);
  const ticks =
    top > 5 ? [1, Math.round(top / 2), top] : Array.from({ length: top }, (_, at) => at + 1);
  const { gamma } = values;
  return (
    <svg
      class="curve"
      width={width}
      height={HIGH}
      role="img"
      aria-label={
        "Speed-up by γ: " + speeds.map((speed, at) => `${at}: ${speed.toFixed(2)}`).join(", ")
      }
    >
      {ticks.map((tick) => [
        <line
          class={tick === 1 ? "even" : "grid"}
          x1={x(0)}
          x2={x(most)}
          y1={y(tick)}
          y2={y(tick)}
        />,
        <text x={x(0) - 8} y={y(tick) + 5} text-anchor="end">
          {tick}×
        </text>,
      ])}
      {speeds.map((_, at) => (
        <text x={x(at)} y={HIGH - 8} text-anchor="middle">
          {at || "γ = 0"}
        </text>
      ))}
      <polyline points={points.join(" ")} />
      {speeds.map((speed, at) => (
        <circle
          class={at === gamma ? "here" : ""}
          cx={x(at)}
          cy={y(speed)}
          r={at === gamma ? 7 : 3}
        />
      ))}
    </svg>
  );
}
