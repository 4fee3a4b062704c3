// Step's draft tree, which on narrow screens is a list by position.

import { flat, percent } from "../shared/dom.js";
import { DraftTree, Facts } from "../shared/draft_tree.js";
import { classes, h, render } from "../shared/view.js";
import { linkAttributes } from "./hover_links.js";
import { TreeKey } from "./legend.js";
import { widthOf, zoom } from "./room.js";
import { squash } from "./size.js";
import { $ } from "./stage.js";
import { TokenChip } from "./token_strip.js";
import { pickNode } from "./what_if.js";

/** @import { DrawnNode as Guess, DrawnSlot as Slot, DrawnTree as Tree } from "../../figures/tree.py" */
/** @import { Node } from "../shared/draft_tree.js" */
/** @typedef {[node: string, guess: Guess]} Entry A guess with its node, as text. */

const COLUMN = 92; // pixels from one position to the next
const ROW = 26; // the same in the list
const HEAD = 12; // pixels of the letters above the columns
const LEAST = 11; // pixels that they have on the screen

/** @param {Tree} tree */
export function showTree(tree) {
  const guesses = Object.keys(tree.nodes).length;
  const count = guesses === 1 ? "1 guess" : guesses + " guesses";
  $(".sv-sub").textContent = guesses ? "· " + count : "· nothing drafted";
  const { more } = tree.layout;
  const hidden = [
    more.deeper ? "+" + more.deeper + " deeper" : "",
    more.lower ? "+" + more.lower + " on other branches" : "",
  ].filter(Boolean);
  $(".sv-more").textContent = hidden.join(", ");
  render(TreeKey(tree), $(".sv-keys"));
  render(positions(tree), $(".sv-list"));
  const drawn = h(DraftTree, {
    nodes: nodesOf(tree),
    layout: tree.layout,
    label: "Draft tree: " + count + ". Up and down arrows move, Enter opens one",
    here: tree.here,
    squash: squash(),
    zoom: zoomOf(tree),
    onPick: pickNode,
    onPoint: (/** @type {number | null} */ node) => showFacts(tree, node),
  });
  render(drawn, $(".sv-tree"));
}

/** @param {Tree} tree @returns {Record<string, Node>} */
function nodesOf({ root, label, nodes, slot }) {
  /** @type {Record<string, Node>} */
  const made = { 0: { w: root, label, is: "root" } };
  for (const [id, node] of Object.entries(nodes)) made[id] = { ...node, ...namesOf(id, node) };
  if (!slot) return made;
  const { w, is } = slot;
  const names = w && is ? namesOf("-1", { ...slot, w, is }) : {};
  made[-1] = { is: "slot", w: ["?"], ...slot, ...names };
  return made;
}

/** @param {string} id @param {Pick<Guess, "w" | "depth" | "is"> & Partial<Pick<Guess, "facts">>} guess */
function namesOf(id, { w, depth, is, facts = [] }) {
  const word = flat(w);
  const links = linkAttributes("node " + id, "word " + word);
  const [, ...numbers] = facts; // the first line says what the name says
  return {
    name: word + " at +" + depth + ", " + is,
    numbers: numbers.join("; ") || undefined,
    link: links["data-link"],
  };
}

/** Return the right end of the last column. @param {Tree} tree */
const extent = ({ layout: { places } }) =>
  Math.max(0, ...Object.entries(places).map(([id, [x]]) => (id === "0" ? 0 : x + COLUMN - 4)));

// A tree that is slightly too wide is drawn smaller, so that its root remains visible; if letters
// would become too small, it scrolls instead.
/** @param {Tree} tree */
function zoomOf(tree) {
  const fit = widthOf("columns") / extent(tree);
  return fit * HEAD * zoom >= LEAST ? Math.min(1, fit) : 1;
}

// The facts of a guess are written below the tree, where they do not cover words.
/** @param {Tree} tree @param {number | null} node */
function showFacts({ nodes, slot }, node) {
  const lines = node === -1 ? [flat(slot?.w ?? [])] : (nodes[node ?? 0]?.facts ?? []);
  $(".sv-felt").hidden = !lines.length;
  render(Facts(lines), $(".sv-felt"));
}

// If there is not enough space for all columns, or rows of the list, scroll to the one that the
// sentence is about: while guesses are proposed, the last one.
/** @param {Tree} tree */
export function follow(tree) {
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
/** @param {Tree} tree */
function positions({ nodes, slot }) {
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

/**
 * @param {number} depth
 * @param {Entry | undefined} lead
 * @param {Entry[]} here
 * @param {Slot | null} slot
 */
function Position(depth, lead, here, slot) {
  const siblings = here.filter((entry) => entry !== lead);
  return h(
    "li",
    { key: depth, class: classes("sv-row", lead && "sv-row-" + lead[1].is) },
    h("span", { class: "sv-at" }, "+" + depth),
    lead ? TokenChip(lead[1], Number(lead[0])) : h("span", null),
    lead ? Bars(lead[1]) : h("span", null),
    h(
      "span",
      { class: "sv-sibs" },
      siblings.map(([node, view]) => TokenChip(view, Number(node))),
      slot &&
        (slot.w && slot.is
          ? TokenChip({ w: slot.w, is: slot.is })
          : h("span", { class: "sv-chip sv-slot" }, "?")),
    ),
  );
}

/** @param {Guess} node */
function Bars({ p, q, soft, left, left_q, facts }) {
  /** @type {[name: string, value: number | undefined, left: number | undefined][]} */
  const all = [
    ["p", p, left],
    ["soft", soft, undefined],
    ["q", q, left_q],
  ];
  const shown = all.flatMap(([name, value, rest]) =>
    value === undefined
      ? []
      : h("i", {
          class: classes("sv-bar-" + name, rest !== undefined && "sv-left-" + name),
          style: { width: percent(rest ?? value) },
        }),
  );
  const numbers = shown.length ? { role: "img", "aria-label": facts[1] } : {};
  return h("span", { class: "sv-bars", ...numbers }, shown);
}
