// The selected guess: its path in the text, and its numbers.

import { flat } from "../../shared/dom";
import { RunningToken, Token } from "../../shared/view";
import { answer, pathTo, ranked, step, view } from "./state";

import type { ComponentChild } from "preact";
import type { Word } from "../../../frames/scene.py";
import type { Node } from "./answer.py";

const Chip = (w: Word) => <span class="sv-grow-chip">{Token(w)}</span>;

/** The text up to the tree, and the path to the selected guess. */
export function ContextText() {
  const { text, nodes } = answer();
  const path = view.picked > 0 ? pathTo(view.picked) : [];
  return [
    "… ",
    ...text.slice(0, -1).map(RunningToken),
    <span class="sv-grow-root">{RunningToken(text[text.length - 1])}</span>,
    ...path.map((node) => Chip(nodes[node].w)),
  ];
}

const share = (value: number) => (value >= 0.0005 ? value.toFixed(3) : value ? "<0.001" : "0");

export function SelectedGuess() {
  const node = answer().nodes[view.picked];
  if (!node) return null;
  return rows(node, view.picked).map(([name, value]) => (
    <div key={name}>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  ));
}

function rows(node: Node, id: number): [name: string, value: ComponentChild][] {
  const { nodes, verdict } = answer();
  const found: [string, ComponentChild][] = [["guess", Chip(node.w)]];
  if (id) {
    found.push(["path’s log-probability", node.total], ["as a probability", share(node.believed)]);
    found.push(["rank among candidates", `${node.rank} of ${nodes.length - 1}`]);
  }
  found.push(...inTree(node));
  if (id) {
    found.push(["target’s p after its parent", share(node.p)]);
    const would = node.row === null ? "would be accepted with" : "accepted with";
    found.push([would, share(node.kept)]);
    const judged = verdict.decisions.find((one) => one.node === id);
    if (judged && step().kind === "verify")
      found.push(["coin u, and p", `${judged.u}, ${judged.p}`]);
  }
  return found;
}

function inTree({ row }: Node): [name: string, value: string][] {
  const { positions, mask, nodes, kept } = answer();
  if (!ranked()) return [["in the tree", "decided at the rerank"]];
  if (row === null) return [["in the tree", "no, dropped at the rerank"]];
  const sees = mask[row].map((other) => flat(nodes[kept[other]].w)).join(" ");
  return [
    ["row of the pass", String(row)],
    ["position", String(positions[row])],
    ["attends to", "the text, " + sees],
  ];
}
