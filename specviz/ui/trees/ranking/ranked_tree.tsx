// The trees of the ranking lab: one tree in one ranking, and two trees with different parents.

import { flat } from "../../shared/dom";
import { DraftTree, Facts, StateKey } from "../../shared/draft_tree";
import { render } from "../../shared/view";
import { $ } from "./state";

import type { Node } from "../../shared/draft_tree";
import type { Tree, TreeNode } from "../drawing.py";
import type { ComparedTree, Role, Way } from "./answer.py";

const ROLES: Record<Role, string> = {
  kept: "kept, as in exact ranking",
  gained: "kept only here",
  lost: "kept only in exact ranking",
  tied: "dropped with the same total as the last one kept",
  dropped: "dropped",
};

export const Legend = () =>
  Object.entries(ROLES).map(([role, label]) => (
    <li key={role}>
      {StateKey(role)}
      {label}
    </li>
  ));

function drawn(nodes: TreeNode[], stateOf: (at: number) => string, totals: string[] = []) {
  const made: Record<string, Node> = {};
  for (const [at, { w, label, parent, depth }] of nodes.entries()) {
    const name = at ? `${flat(w)} at +${depth}` : undefined;
    made[at] = { w, label, parent, is: at ? stateOf(at) : "root", total: totals[at], name };
  }
  return made;
}

export function RankedTree({ nodes, layout }: Tree, { roles, totals }: Way) {
  return (
    <DraftTree
      nodes={drawn(nodes, (at) => roles[at], totals)}
      layout={layout}
      label="The tree, ranked the chosen way. Arrow keys move between guesses"
      sideways
      onPoint={(at: number | null) => {
        const lines = at
          ? [flat(nodes[at].w), `+${nodes[at].depth}`, ROLES[roles[at]], totals[at]]
          : [];
        render(Facts(lines.filter(Boolean)), $(".sv-rank-facts"));
      }}
    />
  );
}

/** The trees with correct parents and with parents that are off by one. */
export function ExhibitTree({ name, nodes, layout, moved, length, kept }: ComparedTree) {
  const numbers = `: expected accepted length ${length.toFixed(2)}; with one set of coins, the target accepts ${kept}`;
  const tree = (
    <DraftTree
      nodes={drawn(nodes, (at) => (moved[at] ? "gained" : "kept"))}
      layout={layout}
      label={name}
      sideways
    />
  );
  return (
    <div key={name}>
      <p class="sv-rank-text">
        <b>{name}</b>
        {numbers}
      </p>
      <div class="sv-rank-small">{tree}</div>
    </div>
  );
}
