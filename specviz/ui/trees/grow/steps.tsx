// The steps of the growing tree: first, back, next, last; which guesses are shown, and the zoom.

import { StateKey } from "../../shared/draft_tree";
import { Icon, termAttributes } from "../../shared/view";
import { follow } from "./growing_tree";
import { answer, look, step, view } from "./state";

import type { Shown } from "./state";

const MOVES: [name: string, title: string, to: (at: number, last: number) => number][] = [
  ["first", "First step", () => 0],
  ["back", "Back", (at) => Math.max(0, at - 1)],
  ["next", "Next", (at, last) => (at === last ? 0 : at + 1)],
  ["last", "Last step", (_at, last) => last],
];
const SHOWN: [value: Shown, title: string][] = [
  ["all", "All candidates"],
  ["kept", "Tree only"],
];
const ZOOMS: [title: string, name: string, to: (zoom: number) => number][] = [
  ["−", "Smaller", (zoom) => Math.max(0.25, (zoom || 1) / 1.25)],
  ["+", "Larger", (zoom) => Math.min(3, (zoom || 1) * 1.25)],
  ["Fit", "Fit the width", () => 0],
];
const WORDS = {
  start: "Start",
  expand: "Expand",
  frontier: "Frontier",
  rerank: "Rerank",
  mask: "Mask",
  verify: "Verify",
};
const KEYS: [state: string, label: string][] = [
  ["reading", "being expanded"],
  ["frontier", "frontier: expanded next"],
  ["pool", "candidates: ranked"],
  ["kept", "kept"],
  ["dropped", "dropped"],
  ["accepted", "accepted"],
  ["rejected", "rejected"],
  ["unreached", "not reached"],
];

/** The step in words. */
export const StepCaption = () => [
  <b class="sv-grow-kindword">{WORDS[step().kind]}</b>,
  " ",
  <span class="sv-grow-said">{step().say}</span>,
];

export function StepDock() {
  const { steps } = answer();
  const last = steps.length - 1;
  const next = steps[view.at + 1];
  const title = next ? "Next: " + WORDS[next.kind].toLowerCase() : "Watch it grow";
  const buttons = MOVES.map(([name, words, to]) => {
    const label = name === "next" ? title : words;
    const over = name === "last" && view.at === last;
    return (
      <button
        key={name}
        type="button"
        data-move={name}
        title={label}
        aria-label={label}
        disabled={over || ((name === "first" || name === "back") && !view.at)}
        onClick={() => {
          look({ at: to(view.at, last) });
          follow();
        }}
      >
        {Icon(name)}
        {name === "next" && <span class="sv-grow-next">{title}</span>}
      </button>
    );
  });
  const count = `step ${view.at + 1} of ${steps.length}`;
  return [...buttons, <span class="sv-grow-count">{count}</span>];
}

export const ShownSwitch = () =>
  SHOWN.map(([value, title]) => (
    <button
      key={value}
      type="button"
      data-shown={value}
      aria-pressed={value === view.shown}
      onClick={() => {
        look({ shown: value });
        follow();
      }}
    >
      {title}
    </button>
  ));

export const ZoomButtons = () =>
  ZOOMS.map(([title, name, to]) => (
    <button
      key={name}
      type="button"
      aria-label={name}
      title={name}
      onClick={() => look({ zoom: to(view.zoom) })}
    >
      {title}
    </button>
  ));

export const Legend = () =>
  KEYS.map(([state, label]) => (
    <li key={state}>
      {StateKey(state)}
      <span {...termAttributes(state)}>{label}</span>
    </li>
  ));
