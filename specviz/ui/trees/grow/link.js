// The tree in the page's address: ?tree=POSITION,SHAPE,DEPTH,BRANCHING,BUDGET,SEED.

import { linkable, linkedText } from "../../shared/address.js";
import { stage } from "./stage.js";
import { state, view } from "./state.js";

const SIZES = /** @type {const} */ (["depth", "width", "budget"]);

/** A visitor's own text and shape are never put into a link. */
function told() {
  if (view.live || state.kind === "own") return "";
  const { place, kind, tree, seed, cold } = state;
  return [place, kind, ...SIZES.map((name) => tree[name]), seed, cold ? "cold" : "warm"].join();
}

/** Read the state from the page's address, if it is valid. */
export function fromLink() {
  const [place, kind, depth, width, budget, seed, warmth] = linkedText("tree").split(",");
  const { places, kinds } = stage.config;
  const numbers = [depth, width, budget, seed].map(Number);
  if (!places.some(([name]) => name === place) || !kinds.some(([name]) => name === kind)) return;
  if (!numbers.every((number) => Number.isInteger(number) && number > 0)) return;
  Object.assign(state, { place, kind, seed: numbers[3], cold: warmth === "cold" });
  for (const [at, name] of SIZES.entries()) state.tree[name] = numbers[at];
}

export const keepLink = () => linkable("tree", told, stage.element);
