// p, q and the output over a few words: the bars of p and q can be dragged, everything else follows.

import { DistributionGrid } from "../../shared/distribution_grid";
import { moved } from "../../shared/probability_bars";
import { Button, render, Token } from "../../shared/view";

import type { Bars } from "../figures.py";

/** What a replacement is sampled from. */
type Source = "residual" | "p";

const SOURCES: [source: Source, title: string][] = [
  ["residual", "the residual"],
  ["p", "p (a mistake)"],
];
const OFF = 0.004; // a larger difference from p is marked
const WHOLE = 100;

/** Round probabilities to hundredths that sum to 1: the largest remainders are rounded up. */
export function hundredths(values: number[]) {
  const parts = values.map((value) => Math.floor(WHOLE * value));
  const left = WHOLE - parts.reduce((sum, part) => sum + part, 0);
  const remainder = (at: number) => WHOLE * values[at] - parts[at];
  const order = values.map((_, at) => at).sort((a, b) => remainder(b) - remainder(a));
  for (const at of order.slice(0, left)) parts[at] += 1;
  return parts;
}

/**
 * What the rule makes of p and q, both in hundredths.
 *
 * kept: by word, min(p, q), an accepted guess. missing: what min(p, q) lacks of p. filled: what
 * replacements add. accepted: the sum of kept. distance: of the output from p, half the sum of all
 * differences.
 */
export function outcome(p: number[], q: number[], source: Source) {
  const kept = p.map((value, at) => Math.min(value, q[at]));
  const missing = p.map((value, at) => value - kept[at]);
  const accepted = kept.reduce((sum, value) => sum + value, 0);
  const rejected = WHOLE - accepted;
  const filled = source === "p" ? p.map((value) => (value * rejected) / WHOLE) : missing;
  const off = p.map((value, at) => kept[at] + filled[at] - value);
  const distance = off.reduce((sum, value) => sum + Math.abs(value), 0) / 2;
  return { kept, missing, filled, off, accepted, rejected, distance };
}

const decimal = (parts: number) => (parts / WHOLE).toFixed(2);
const shares = (parts: number[]) => parts.map((part) => part / WHOLE);

export function startBars(element: HTMLElement, given: Bars) {
  const { words } = given;
  const state = { p: given.p, q: given.q, source: "residual" as Source };
  const set = (to: Partial<typeof state>) => {
    Object.assign(state, to);
    show();
  };

  function show() {
    const [p, q] = [hundredths(state.p), hundredths(state.q)];
    const found = outcome(p, q, state.source);
    render(
      [
        <div class="sv-sand-grid">{Grid(shares(p), shares(q), found)}</div>,
        Keys(),
        Said(found),
        <div class="buttons">
          <fieldset>
            <legend>A replacement is sampled from</legend>
            {SOURCES.map(([source, title]) =>
              Button(title, () => set({ source }), { "aria-pressed": state.source === source }),
            )}
          </fieldset>
          {Button("Back to the run’s p and q", () => set({ p: given.p, q: given.q }))}
        </div>,
      ],
      element,
    );
  }

  const Grid = (p: number[], q: number[], { kept, filled }: ReturnType<typeof outcome>) =>
    DistributionGrid({
      words,
      p,
      q,
      output: { words, p, kept: shares(kept), filled: shares(filled) },
      scale: 1,
      tolerance: OFF,
      onMove: (name, at, value) =>
        set({ [name]: moved(state[name], at, Math.round(WHOLE * value) / WHOLE) }),
    });

  function Said({ kept, accepted, rejected, off, distance }: ReturnType<typeof outcome>) {
    const most = off.indexOf(Math.max(...off));
    const exact = distance < 1e-9;
    return (
      <div class="said" aria-live="polite">
        <p>
          <b class="n-both">α = {decimal(accepted)}</b>
          <span class="sum"> = {kept.map(decimal).join(" + ")}</span>: so often a guess is accepted.
          Otherwise, with probability <b class="n-residual">{decimal(rejected)}</b>, it is rejected,
          and exactly <b class="n-residual">{decimal(rejected)}</b> is missing from p.
        </p>
        <p>
          {exact ? (
            [<b>The output is p</b>, state.source === "p" ? ", since nothing is rejected." : "."]
          ) : (
            <>
              <b>The output is not p</b>: <b class="token">{Token(words[most])}</b> appears too
              often, and the distance from p is <b>{(distance / WHOLE).toFixed(3)}</b>.
            </>
          )}
        </p>
      </div>
    );
  }

  show();
}

const Keys = () => (
  <ul class="sv-sand-keys">
    <li>
      <i class="sv-sand-key sv-sand-kept" />
      min(p, q): an accepted guess
    </li>
    <li>
      <i class="sv-sand-key sv-sand-filled" />a replacement
    </li>
  </ul>
);
