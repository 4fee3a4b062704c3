// Position, shape and size: lists and three sliders, with the terms of other programs.

import { classes, h, render } from "../../shared/view.js";
import { Options } from "../shared/options.js";
import { $, look, stage, state, view } from "./state.js";

/** @import { Dial } from "./state.js" */

const MOST_BUDGET = 63; // with the root 64 rows, the largest pass that was timed
/** @type {[name: Dial, title: string][]} */
const DIALS = [
  ["depth", "Depth γ (levels)"],
  ["width", "Branching (top-k)"],
  ["budget", "Budget (guesses)"],
];
/** The sliders that apply to each shape. @type {Record<string, Dial[]>} */
const HEEDS = {
  dynamic: ["depth", "width", "budget"],
  chain: ["depth"],
  regular: ["depth", "width"],
  optimised: ["depth", "budget"],
};
/**
 * The name and value of each number in other programs.
 * @type {Record<Dial, (n: number) => string>}
 */
const ELSEWHERE = {
  depth: (n) => `SGLang num_steps ${n} · EAGLE depth ${n - 1}`,
  width: (n) => `SGLang eagle_topk ${n} · EAGLE top_k ${n}`,
  budget: (n) => `SGLang num_draft_tokens ${n + 1} · EAGLE total_tokens ${n + 1}`,
};

/** @returns {HTMLTextAreaElement} */
const own = () => $("#sv-grow-own");

/** Return the preset with the current size; "" for none. */
function preset() {
  const { kind, tree } = state;
  const at = stage.config.presets.findIndex(
    ([, size]) =>
      kind === "dynamic" && size.join() === [tree.depth, tree.width, tree.budget].join(),
  );
  return at < 0 ? "" : String(at);
}

/** @type {() => void} */
let changed = () => {};

/** Write the state into the controls. */
export function showControls() {
  const { places, kinds, presets } = stage.config;
  const heeds = HEEDS[state.kind] || [];
  render(Options(view.own ? [view.own, ...places] : places, state.place), $("#sv-grow-place"));
  render(Options(kinds, state.kind), $("#sv-grow-kind"));
  const sizes = presets.map(([title], at) => /** @type {[string, string]} */ ([String(at), title]));
  render(Options([["", "Custom (sliders)"], ...sizes], preset()), $("#sv-grow-preset"));
  render(
    DIALS.filter(([name]) => heeds.includes(name)).map(([name, title]) => Slider(name, title)),
    $(".sv-grow-dials"),
  );
  $(".sv-grow-dials").hidden = !heeds.length;
  $(".sv-grow-own").hidden = state.kind !== "own";
}

/** @param {Dial} name @param {string} title */
function Slider(name, title) {
  const { depth, width } = stage.config.most;
  const value = state.tree[name];
  const id = "sv-grow-" + name;
  return h(
    "div",
    { key: name, class: classes("sv-grow-dial"), "data-dial": name },
    h("label", { for: id }, title),
    h("output", null, value),
    h("input", {
      type: "range",
      id,
      min: 1,
      max: { depth, width, budget: MOST_BUDGET }[name],
      value,
      onInput: (/** @type {Event & { currentTarget: HTMLInputElement }} */ { currentTarget }) => {
        state.tree[name] = Number(currentTarget.value);
        changed();
      },
    }),
    h("small", null, state.kind === "dynamic" ? ELSEWHERE[name](value) : ""),
  );
}

/** @param {string} id @param {(value: string) => void} choose */
function onChoice(id, choose) {
  stage.onChoice(id, (value) => {
    choose(value);
    changed();
  });
}

/** @param {() => void} ask Called after every change. */
export function startControls(ask) {
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

/**
 * Add a live position at the top of the list and select it.
 * @param {string} place @param {string} title
 */
export function addPlace(place, title) {
  state.place = place;
  look({ own: [place, title], live: true, at: 0, notice: "" });
}
