// The growing tree in a view that scrolls; only the visible part is drawn.

import { flat } from "../../shared/dom.js";
import { DraftTree } from "../../shared/draft_tree.js";
import { h, render } from "../../shared/view.js";
import { $, answer, pathTo, pick, step, view } from "./state.js";

/** @import { LayoutData } from "../../../figures/layout.py" */
/** @import { Node, Places } from "../../shared/draft_tree.js" */

const HIGHEST = 760; // height of the view, as in its style sheet
const MORE = 480; // pixels that are drawn beyond the view on each side
const LATE = ["rerank", "mask", "verify"]; // steps at which the whole pool is there
/** @type {Record<string, string>} */
const SAID = {
  pool: "candidate",
  reading: "being expanded",
  fresh: "new",
  unreached: "not reached",
};

/** Return the layout; while the tree grows, without deeper levels. @returns {LayoutData} */
function layout() {
  const { layouts, levels, nodes } = answer();
  const { kind, born } = step();
  const base = layouts[view.shown];
  if (view.shown === "kept" || LATE.includes(kind)) return base;
  const { y, height } = levels[nodes[born - 1].depth];
  /** @type {Places} */
  const places = {};
  for (const [node, middle] of y.entries()) places[node] = [base.places[node][0], middle];
  return { ...base, places, height };
}

const scale = () => view.zoom || Math.min(1, $(".sv-grow-view").clientWidth / layout().width);

/** @param {boolean} [whole] Draw what is out of sight, too. */
export function showGrowingTree(whole = false) {
  const place = $(".sv-grow-view");
  const zoom = scale();
  const [from, to] = [place.scrollTop - MORE, place.scrollTop + HIGHEST + MORE];
  const tree = h(DraftTree, {
    nodes: nodes(),
    layout: layout(),
    label: "The draft tree. Arrow keys move between guesses",
    picked: view.picked,
    zoom,
    seen: whole ? undefined : [from / zoom, to / zoom],
    sideways: true,
    onPoint: (/** @type {number | null} */ node) => node !== null && !held && pick(node),
    onReveal: reveal,
  });
  render(tree, place);
}

/** Return the drawing of the whole tree, for a picture. */
export function wholeTree() {
  showGrowingTree(true);
  return $(".sv-grow-view > svg");
}

/** Return the guesses that exist at this step. @returns {Record<string, Node>} */
function nodes() {
  const { nodes: all, verdict } = answer();
  const path = new Set(view.picked < 0 ? [] : [0, ...pathTo(view.picked)]);
  const accepted = new Set(verdict.path);
  const judged = new Set(verdict.decisions.map((one) => one.node));
  /** @type {Record<string, Node>} */
  const made = {};
  for (let id = 0; id < step().born; id += 1) {
    const { w, label, parent, q, total, depth } = all[id];
    const is = stateOf(id, accepted, judged);
    const name = `${flat(w)}${id ? ` at +${depth}` : ""}, ${SAID[is] ?? is}`;
    made[id] = { w, label, parent, q, total, is, name, lit: path.has(id) };
  }
  return made;
}

/** @param {number} id @param {Set<number>} accepted @param {Set<number>} judged */
function stateOf(id, accepted, judged) {
  const { kind } = step();
  if (!LATE.includes(kind)) return growingState(id);
  if (!id) return "root";
  if (answer().nodes[id].row === null) return "dropped";
  if (kind !== "verify") return "kept";
  return accepted.has(id) ? "accepted" : judged.has(id) ? "rejected" : "unreached";
}

/** @param {number} id */
function growingState(id) {
  const { level, node: read } = step();
  if (id === read) return "reading";
  if (level?.includes(id)) return "frontier";
  if (!id) return "root";
  return answer().nodes[id].parent === read ? "fresh" : "pool";
}

/**
 * Scroll the view, but not the page, to a guess, and draw what is visible there.
 * @param {number} node
 */
function reveal(node) {
  const place = $(".sv-grow-view");
  const [x, y] = layout().places[node].map((at) => at * scale());
  const wide = answer().nodes[node].label.pill * scale();
  const { clientHeight, clientWidth, scrollLeft, scrollTop } = place;
  if (y < scrollTop + 30 || y > scrollTop + clientHeight - 30)
    place.scrollTop = y - clientHeight / 2;
  if (x < scrollLeft || x + wide > scrollLeft + clientWidth) place.scrollLeft = x - 80;
  showGrowingTree();
}

/**
 * Scroll to what a step's sentence is about. Where not all of it fits, its beginning is visible.
 */
export function follow() {
  if (!$(".sv-grow-view").clientHeight) return; // another tab is open
  for (const node of subjects()) if (node in layout().places) reveal(node);
}

/**
 * The guesses that a step's sentence is about, the most important one last: those on the accepted
 * path or else the first judged one, the expanded guess with its first and last child, or the
 * frontier.
 * @returns {number[]}
 */
function subjects() {
  const { kind, node, level, born } = step();
  const { nodes: all, verdict } = answer();
  if (kind === "verify") {
    const path = verdict.path.length ? verdict.path : verdict.decisions.map((one) => one.node);
    return [...path].reverse();
  }
  if (node === undefined) return [...(level ?? [])].reverse();
  const kids = all.map((_, at) => at).filter((at) => at < born && all[at].parent === node);
  return [node, kids[kids.length - 1] ?? node, kids[0] ?? node];
}

/** @type {{ x: number, y: number, left: number, top: number } | null} */
let held = null; // where the mouse started to drag the tree

/** Allow dragging of the tree, and draw more when it is scrolled. */
export function startDragging() {
  const place = $(".sv-grow-view");
  place.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button !== 0) return; // fingers scroll by themselves
    held = { x: event.clientX, y: event.clientY, left: place.scrollLeft, top: place.scrollTop };
  });
  window.addEventListener("pointermove", (event) => {
    if (!held) return;
    place.scrollLeft = held.left - (event.clientX - held.x);
    place.scrollTop = held.top - (event.clientY - held.y);
  });
  window.addEventListener("pointerup", () => {
    held = null;
  });
  let drawnAt = 0;
  place.addEventListener("scroll", () => {
    if (Math.abs(place.scrollTop - drawnAt) <= MORE / 2) return;
    drawnAt = place.scrollTop;
    showGrowingTree();
  });
}
