// The tree in the page's address: ?tree=POSITION,SHAPE,DEPTH,BRANCHING,BUDGET,SEED,TEMPERATURE,STEP
// (steps count from 1; the first may be left out), and a visitor's own shape (&tree-shape=) or text
// (&tree-text=), which fills in the form but starts nothing.

import { linkable, linkedText, noteOfLink } from "../../shared/address";
import { $, stage, state, view } from "./state";

const NOT_DRAFTED = "It fills in your text; “Draft here, live” draws its tree";
const SIZES = ["depth", "width", "budget"] as const;

function told() {
  if (view.live) return "";
  const { place, kind, tree, seed, cold } = state;
  const sizes = SIZES.map((name) => tree[name]);
  const step = view.at > 0 ? [view.at + 1] : [];
  return [place, kind, ...sizes, seed, cold ? "cold" : "warm", ...step].join();
}

/** Read the state from the page's address, if it is valid. */
export function fromLink() {
  const [place, kind, depth, width, budget, seed, warmth, step] = linkedText("tree").split(",");
  const { places, kinds } = stage.config;
  const numbers = [depth, width, budget, seed].map(Number);
  if (!places.some(([name]) => name === place) || !kinds.some(([name]) => name === kind)) return;
  if (!numbers.every((number) => Number.isInteger(number) && number > 0)) return;
  Object.assign(state, { place, kind, seed: numbers[3], cold: warmth === "cold" });
  for (const [at, name] of SIZES.entries()) state.tree[name] = numbers[at];
  if (Number.isInteger(Number(step))) view.at = Number(step) - 1;
  if (kind === "own") state.own = linkedText("tree-shape");
}

const fields = (): [text: HTMLInputElement, drafter: HTMLSelectElement, skip: HTMLInputElement] => [
  $("#sv-grow-prompt"),
  $("#sv-grow-drafter"),
  $("#sv-grow-skip"),
];

const ownShape = () => (state.kind === "own" && !view.live ? state.own : "");

/** Return the visitor's own text, drafter and number of skipped tokens; "" if there is no text. */
function ownText() {
  const values = fields().map((field) => field.value);
  return view.live || values[0] !== stage.config.prompt ? JSON.stringify(values) : "";
}

/** Fill in the form for the own text from the page's address. */
export function fillLive() {
  const linked = linkedText("tree-text");
  if (!linked) return;
  try {
    const values: unknown = JSON.parse(linked);
    if (!Array.isArray(values) || values.some((value) => typeof value !== "string")) return;
    for (const [at, field] of fields().entries()) if (values[at]) field.value = values[at];
    $(".sv-grow-live").setAttribute("open", "");
  } catch {
    // an invalid link opens the tab as without a link
  }
}

/** Keep the link up to date; return the function to call after a change. */
export function keepLink() {
  noteOfLink(stage.element, () => (ownText() ? NOT_DRAFTED : ""));
  const writers = [
    linkable("tree", told, stage.element),
    linkable("tree-shape", ownShape, stage.element),
    linkable("tree-text", ownText, stage.element),
  ];
  return () => {
    for (const write of writers) write();
  };
}
