// The trees of the ranking lab: one tree in one ranking, and two trees with different parents.

import { flat } from "../../shared/dom.js";
import { DraftTree, Facts, StateKey } from "../../shared/draft_tree.js";
import { h, render } from "../../shared/view.js";
import { $ } from "./state.js";

/** @import { Node } from "../../shared/draft_tree.js" */
/** @import { Tree, TreeNode } from "../drawing.py" */
/** @import { ComparedTree, Role, Way } from "./answer.py" */

/** @type {Record<Role, string>} */
const ROLES = {
  kept: "kept, as in exact ranking",
  gained: "kept only here",
  lost: "kept only in exact ranking",
  tied: "dropped with the same total as the last one kept",
  dropped: "dropped",
};

export const Legend = () =>
  Object.entries(ROLES).map(([role, label]) => h("li", { key: role }, StateKey(role), label));

/** @param {TreeNode[]} nodes @param {(at: number) => string} stateOf @param {string[]} [totals] */
function drawn(nodes, stateOf, totals = []) {
  /** @type {Record<string, Node>} */
  const made = {};
  for (const [at, { w, label, parent, depth }] of nodes.entries()) {
    const name = at ? `${flat(w)} at +${depth}` : undefined;
    made[at] = { w, label, parent, is: at ? stateOf(at) : "root", total: totals[at], name };
  }
  return made;
}

/** @param {Tree} tree @param {Way} way */
export function RankedTree({ nodes, layout }, { roles, totals }) {
  return h(DraftTree, {
    nodes: drawn(nodes, (at) => roles[at], totals),
    layout,
    label: "The tree, ranked the chosen way. Arrow keys move between guesses",
    sideways: true,
    onPoint: (/** @type {number | null} */ at) => {
      const lines = at
        ? [flat(nodes[at].w), `+${nodes[at].depth}`, ROLES[roles[at]], totals[at]]
        : [];
      render(Facts(lines.filter(Boolean)), $(".sv-rank-facts"));
    },
  });
}

/**
 * The trees with correct parents and with parents that are off by one.
 * @param {ComparedTree} tree
 */
export function ExhibitTree({ name, nodes, layout, moved, length, kept }) {
  const numbers = `: expected accepted length ${length.toFixed(2)}; with one set of coins, the target accepts ${kept}`;
  const tree = h(DraftTree, {
    nodes: drawn(nodes, (at) => (moved[at] ? "gained" : "kept")),
    layout,
    label: name,
    sideways: true,
  });
  return h(
    "div",
    { key: name },
    h("p", { class: "sv-rank-text" }, h("b", null, name), numbers),
    h("div", { class: "sv-rank-small" }, tree),
  );
}
