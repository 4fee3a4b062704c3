// Position, shape and size: lists and three sliders, with the terms of other programs.

import { classes, render } from "../../shared/view";
import { Options } from "../shared/options";
import { $, look, stage, state, view } from "./state";

import type { Dial } from "./state";

const MOST_BUDGET = 63; // with the root 64 rows, the largest pass that was timed
const DIALS: [name: Dial, title: string][] = [
  ["depth", "Depth γ (levels)"],
  ["width", "Branching (top-k)"],
  ["budget", "Budget (guesses)"],
];
/** The sliders that apply to each shape. */
const HEEDS: Record<string, Dial[]> = {
  dynamic: ["depth", "width", "budget"],
  chain: ["depth"],
  regular: ["depth", "width"],
  optimised: ["depth", "budget"],
};
/** The name and value of each number in other programs. */
const ELSEWHERE: Record<Dial, (n: number) => string> = {
  depth: (n) => `SGLang num_steps ${n} · EAGLE depth ${n - 1}`,
  width: (n) => `SGLang eagle_topk ${n} · EAGLE top_k ${n}`,
  budget: (n) => `SGLang num_draft_tokens ${n + 1} · EAGLE total_tokens ${n + 1}`,
};

const own = (): HTMLTextAreaElement => $("#sv-grow-own");

/** Return the preset with the current size; "" for none. */
function preset() {
  const { kind, tree } = state;
  const at = stage.config.presets.findIndex(
    ([, size]) =>
      kind === "dynamic" && size.join() === [tree.depth, tree.width, tree.budget].join(),
  );
  return at < 0 ? "" : String(at);
}

let changed: () => void = () => {};

/** Write the state into the controls. */
export function showControls() {
  const { places, kinds, presets } = stage.config;
  const heeds = HEEDS[state.kind] || [];
  render(Options(view.own ? [view.own, ...places] : places, state.place), $("#sv-grow-place"));
  render(Options(kinds, state.kind), $("#sv-grow-kind"));
  const sizes = presets.map(([title], at) => [String(at), title] as [string, string]);
  render(Options([["", "Custom (sliders)"], ...sizes], preset()), $("#sv-grow-preset"));
  render(
    DIALS.filter(([name]) => heeds.includes(name)).map(([name, title]) => Slider(name, title)),
    $(".sv-grow-dials"),
  );
  $(".sv-grow-dials").hidden = !heeds.length;
  $(".sv-grow-own").hidden = state.kind !== "own";
}

function Slider(name: Dial, title: string) {
  const { depth, width } = stage.config.most;
  const value = state.tree[name];
  const id = "sv-grow-" + name;
  return (
    <div key={name} class={classes("sv-grow-dial")} data-dial={name}>
      <label for={id}>{title}</label>
      <output>{value}</output>
      <input
        type="range"
        id={id}
        min={1}
        max={{ depth, width, budget: MOST_BUDGET }[name]}
        value={value}
        onInput={({ currentTarget }: Event & { currentTarget: HTMLInputElement }) => {
          state.tree[name] = Number(currentTarget.value);
          changed();
        }}
      />
      <small>{state.kind === "dynamic" ? ELSEWHERE[name](value) : ""}</small>
    </div>
  );
}

function onChoice(id: string, choose: (value: string) => void) {
  stage.onChoice(id, (value) => {
    choose(value);
    changed();
  });
}

/** @param ask Called after every change. */
export function startControls(ask: () => void) {
  changed = () => {
    showControls();
    ask();
  };
  onChoice("#sv-grow-place", (value) => {
    state.place = value;
    view.live = value.startsWith("live:");
  });
  onChoice("#sv-grow-kind", (value) => {
    state.kind = value;
    state.own = value === "own" ? own().value : "";
  });
  onChoice("#sv-grow-preset", (value) => {
    if (!value) return;
    const [depth, width, budget] = stage.config.presets[Number(value)][1];
    state.tree = { depth, width, budget };
    state.kind = "dynamic";
  });
  own().addEventListener("input", () => {
    state.own = own().value;
    changed();
  });
  if (state.own) own().value = state.own;
  showControls();
}

/** Add a live position at the top of the list and select it. */
export function addPlace(place: string, title: string) {
  state.place = place;
  look({ own: [place, title], live: true, at: 0, notice: "" });
}
