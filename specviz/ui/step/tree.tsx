// Step's draft tree, which on narrow screens is a list by position.

import { flat } from "../shared/dom";
import { DraftTree, Facts } from "../shared/draft_tree";
import { classes, render } from "../shared/view";
import { Fill } from "./bar_rows";
import { linkAttributes } from "./hover_links";
import { TreeKey } from "./legend";
import { widthOf, zoom } from "./room";
import { squash } from "./size";
import { $ } from "./stage";
import { TokenChip } from "./token_strip";
import { pickNode } from "./what_if";

import type {
  DrawnNode as Guess,
  DrawnSlot as Slot,
  DrawnTree as Tree,
} from "../../figures/tree.py";
import type { Node } from "../shared/draft_tree";
/** A guess with its node, as text. */
export type Entry = [node: string, guess: Guess];

const COLUMN = 92; // pixels from one position to the next
const ROW = 26; // the same in the list
const HEAD = 12; // pixels of the letters above the columns
const LEAST = 11; // pixels that they have on the screen

export function showTree(tree: Tree) {
  const guesses = Object.keys(tree.nodes);
  const count = guesses.length === 1 ? "1 guess" : guesses.length + " guesses";
  const hidden = guesses.filter((node) => !Object.hasOwn(tree.layout.places, node)).length;
  const shown = hidden ? count + ", " + hidden + " not shown" : count;
  $(".sv-sub").textContent = guesses.length ? "· " + shown : "· nothing drafted";
  render(TreeKey(tree), $(".sv-keys"));
  render(positions(tree), $(".sv-list"));
  const drawn = (
    <DraftTree
      nodes={nodesOf(tree)}
      layout={tree.layout}
      label={"Draft tree: " + count + ". Up and down arrows move, Enter opens one"}
      here={tree.here}
      squash={squash()}
      zoom={zoomOf(tree)}
      onPick={pickNode}
      onPoint={(node: number | null) => showFacts(tree, node)}
    />
  );
  render(drawn, $(".sv-tree"));
}

function nodesOf({ root, label, nodes, slot }: Tree): Record<string, Node> {
  const made: Record<string, Node> = { 0: { w: root, label, is: "root" } };
  for (const [id, node] of Object.entries(nodes)) made[id] = { ...node, ...namesOf(id, node) };
  if (!slot) return made;
  const { w, is } = slot;
  const names = w && is ? namesOf("-1", { ...slot, w, is }) : {};
  made[-1] = { is: "slot", w: ["?"], ...slot, ...names };
  return made;
}

function namesOf(
  id: string,
  { w, depth, is, facts = [] }: Pick<Guess, "w" | "depth" | "is"> & Partial<Pick<Guess, "facts">>,
) {
  const word = flat(w);
  const links = linkAttributes("node " + id, "word " + word);
  const [, ...numbers] = facts; // the first line says what the name says
  return {
    name: word + " at +" + depth + ", " + is,
    numbers: numbers.join("; ") || undefined,
    link: links["data-link"],
  };
}

/** Return the right end of the last column. */
const extent = ({ layout: { places } }: Tree) =>
  Math.max(0, ...Object.entries(places).map(([id, [x]]) => (id === "0" ? 0 : x + COLUMN - 4)));

// A tree that is slightly too wide is drawn smaller, so that its root remains visible; if letters
// would become too small, it scrolls instead.
function zoomOf(tree: Tree) {
  const fit = widthOf("columns") / extent(tree);
  return fit * HEAD * zoom >= LEAST ? Math.min(1, fit) : 1;
}

// The facts of a guess are written below the tree, where they do not cover words.
function showFacts({ nodes, slot }: Tree, node: number | null) {
  const lines = node === -1 ? [flat(slot?.w ?? [])] : (nodes[node ?? 0]?.facts ?? []);
  $(".sv-felt").hidden = !lines.length;
  render(Facts(lines), $(".sv-felt"));
}

// If there is not enough space for all columns, or rows of the list, scroll to the one that the
// sentence is about: while guesses are proposed, the last one.
export function follow(tree: Tree) {
  const { places } = tree.layout;
  const { nodes, slot, here: judged } = tree;
  const farthest = extent(tree);
  const place = places[slot ? -1 : (judged ?? 0)];
  const proposed = Object.values(nodes).every((node) => node.is === "waiting");
  const right = place && (slot || judged) ? place[0] + COLUMN - 4 : proposed ? farthest : 0;
  const here = slot ?? nodes[judged ?? 0];
  const deepest = Math.max(0, ...Object.values(nodes).map((node) => node.depth));
  const depth = here?.depth ?? (proposed ? deepest : 0);
  $(".sv-list").scrollTop = (depth - 4) * ROW;
  const box = $(".sv-treebox");
  const width = widthOf("columns");
  const hidden = zoomOf(tree) < 1 ? 0 : Math.ceil((right - width) / COLUMN);
  box.scrollLeft = hidden > 0 ? hidden * COLUMN : 0;
  box.classList.toggle("sv-more-right", farthest * zoomOf(tree) - 30 > box.scrollLeft + width);
}

// The list has one row per position: the guess on the branch, its p and q, and its siblings,
// collapsed.
function positions({ nodes, slot }: Tree) {
  const rows = [];
  let parent = 0;
  for (let depth = 1; ; depth += 1) {
    const here = Object.entries(nodes).filter(([, node]) => node.parent === parent);
    const open = slot && slot.parent === parent ? slot : null;
    if (!here.length && !open) break;
    const order = ["accepted", "waiting", "unreached", "rejected"];
    const lead = [...here].sort((a, b) => order.indexOf(a[1].is) - order.indexOf(b[1].is))[0];
    rows.push(Position(depth, lead, here, open));
    if (!lead) break;
    parent = Number(lead[0]);
  }
  return rows;
}

function Position(depth: number, lead: Entry | undefined, here: Entry[], slot: Slot | null) {
  const siblings = here.filter((entry) => entry !== lead);
  return (
    <li key={depth} class={classes("sv-row", lead && "sv-row-" + lead[1].is)}>
      <span class="sv-at">{"+" + depth}</span>
      {lead ? TokenChip(lead[1], Number(lead[0])) : <span />}
      {lead ? Bars(lead[1]) : <span />}
      <span class="sv-sibs">
        {siblings.map(([node, view]) => TokenChip(view, Number(node)))}
        {slot &&
          (slot.w && slot.is ? (
            TokenChip({ w: slot.w, is: slot.is })
          ) : (
            <span class="sv-chip sv-slot">?</span>
          ))}
      </span>
    </li>
  );
}

function Bars({ p, q, soft, left, left_q, facts }: Guess) {
  const Part = (name: string, value?: number, rest?: number) =>
    value === undefined
      ? []
      : [Fill(name + (rest === undefined ? "" : " sv-left-" + name), rest ?? value)];
  const shown = [...Part("p", p, left), ...Part("soft", soft), ...Part("q", q, left_q)];
  const numbers = shown.length ? { role: "img" as const, "aria-label": facts[1] } : {};
  return (
    <span class="sv-bars" {...numbers}>
      {shown}
    </span>
  );
}
