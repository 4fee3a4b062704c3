// Position, shape and size: lists and three sliders, with the names that other engines use.

import { el } from "../../shared/dom.js";
import { $, stage } from "./stage.js";
import { fromLink } from "./link.js";
import { state, view } from "./state.js";

/** @import { Dial } from "./data.js" */

const MOST_BUDGET = 63; // with the root 64 rows, the largest pass that was timed
/** @type {[name: Dial, title: string][]} */
const DIALS = [
  ["depth", "Depth γ (levels)"],
  ["width", "Branching (top-k)"],
  ["budget", "Budget (guesses)"],
];
/** The sliders that apply to a shape. @type {Record<string, Dial[]>} */
const HEEDS = {
  dynamic: ["depth", "width", "budget"],
  chain: ["depth"],
  regular: ["depth", "width"],
  optimised: ["depth", "budget"],
};
/** The name and value of a number in other engines. @type {Record<Dial, (n: number) => string>} */
const ELSEWHERE = {
  depth: (n) => `SGLang num_steps ${n} · EAGLE depth ${n - 1}`,
  width: (n) => `SGLang eagle_topk ${n} · EAGLE top_k ${n}`,
  budget: (n) => `SGLang num_draft_tokens ${n + 1} · EAGLE total_tokens ${n + 1}`,
};

/** @param {() => void} changed */
export function controls(changed) {
  const { places, kinds, presets } = stage.config;
  list("#sv-grow-place", places, (value) => {
    state.place = value;
    view.live = value.startsWith("live:");
    changed();
  });
  list("#sv-grow-kind", kinds, (value) => {
    state.kind = value;
    state.own = value === "own" ? own().value : "";
    showControls();
    changed();
  });
  /** @type {[string, string][]} */
  const sizes = presets.map(([title], at) => [String(at), title]);
  list("#sv-grow-preset", [["", "Custom (sliders)"], ...sizes], (value) => {
    if (!value) return;
    const [depth, width, budget] = presets[Number(value)][1];
    state.tree = { depth, width, budget };
    state.kind = "dynamic";
    showControls();
    changed();
  });
  $(".sv-grow-dials").replaceChildren(...DIALS.map(([name, title]) => dial(name, title, changed)));
  own().addEventListener("input", () => {
    state.own = own().value;
    changed();
  });
  state.place = places[0][0];
  fromLink();
  select("#sv-grow-place", state.place);
  if (state.own) own().value = state.own;
  showControls();
}

/** @returns {HTMLTextAreaElement} */
const own = () => $("#sv-grow-own");

/** @param {string} id @param {[string, string][]} rows @param {(value: string) => void} heard */
function list(id, rows, heard) {
  /** @type {HTMLSelectElement} */
  const made = $(id);
  made.replaceChildren(...rows.map(([value, title]) => new Option(title, value)));
  made.addEventListener("change", () => heard(made.value));
}

/** @param {Dial} name @param {string} title @param {() => void} changed */
function dial(name, title, changed) {
  const { depth, width } = stage.config.most;
  const most = { depth, width, budget: MOST_BUDGET }[name];
  const box = el("input");
  Object.assign(box, { type: "range", id: "sv-grow-" + name, min: "1", max: String(most) });
  const label = el("label", "", title);
  label.htmlFor = box.id;
  box.addEventListener("input", () => {
    state.tree[name] = Number(box.value);
    showControls();
    changed();
  });
  const made = el("div", "sv-grow-dial", label, el("output"), box, el("small"));
  made.dataset.dial = name;
  return made;
}

/** Write the state into the controls. */
export function showControls() {
  const { kind, tree } = state;
  const heeds = HEEDS[kind] || [];
  $(".sv-grow-own").hidden = kind !== "own";
  $(".sv-grow-dials").hidden = !heeds.length;
  for (const made of stage.all("[data-dial]")) {
    const name = /** @type {Dial} */ (made.dataset.dial);
    made.hidden = !heeds.includes(name);
    const [box, output, small] = ["input", "output", "small"].map((tag) => made.querySelector(tag));
    if (!(box instanceof HTMLInputElement) || !output || !small) continue;
    box.value = String(tree[name]);
    output.textContent = String(tree[name]);
    small.textContent = kind === "dynamic" ? ELSEWHERE[name](tree[name]) : "";
  }
  select("#sv-grow-kind", kind);
  const at = stage.config.presets.findIndex(
    ([, [depth, width, budget]]) =>
      kind === "dynamic" && depth === tree.depth && width === tree.width && budget === tree.budget,
  );
  select("#sv-grow-preset", at < 0 ? "" : String(at));
}

/** @param {string} id @param {string} value */
function select(id, value) {
  /** @type {HTMLSelectElement} */
  const made = $(id);
  made.value = value;
}

/** Put a live position first in the list and select it. @param {string} place @param {string} title */
export function addPlace(place, title) {
  /** @type {HTMLSelectElement} */
  const made = $("#sv-grow-place");
  for (const old of [...made.options]) if (old.value.startsWith("live:")) old.remove();
  made.prepend(new Option(title, place));
  made.value = place;
  state.place = place;
  view.live = true;
}
