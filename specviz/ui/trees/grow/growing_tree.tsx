// The growing tree in a view that scrolls; only the visible part is drawn.

import { flat } from "../../shared/dom";
import { DraftTree } from "../../shared/draft_tree";
import { render } from "../../shared/view";
import { $, answer, pathTo, pick, step, view } from "./state";

import type { LayoutData } from "../../../figures/layout.py";
import type { Node, Places } from "../../shared/draft_tree";

const HIGHEST = 760; // height of the view, as in its style sheet
const EDGE = 30; // pixels above and below the middle of a guess that are visible, too
const MORE = 480; // pixels that are drawn beyond the view on each side
const LATE = ["rerank", "mask", "verify"]; // steps at which the whole pool is there
const SAID: Record<string, string> = {
  pool: "candidate",
  reading: "being expanded",
  fresh: "new",
  unreached: "not reached",
};

/** Return the layout; while the tree grows, without deeper levels. */
function layout(): LayoutData {
  const { layouts, levels, nodes } = answer();
  const { kind, born } = step();
  const base = layouts[view.shown];
  if (view.shown === "kept" || LATE.includes(kind)) return base;
  const { y, height } = levels[nodes[born - 1].depth];
  const places: Places = {};
  for (const [node, middle] of y.entries()) places[node] = [base.places[node][0], middle];
  return { ...base, places, height };
}

const scale = () => view.zoom || Math.min(1, $(".sv-grow-view").clientWidth / layout().width);

/** @param whole Draw what is out of sight, too. */
export function showGrowingTree(whole: boolean = false) {
  const place = $(".sv-grow-view");
  const zoom = scale();
  const [from, to] = [place.scrollTop - MORE, place.scrollTop + HIGHEST + MORE];
  const tree = (
    <DraftTree
      nodes={nodes()}
      layout={layout()}
      label="The draft tree. Arrow keys move between guesses"
      picked={view.picked}
      zoom={zoom}
      seen={whole ? undefined : [from / zoom, to / zoom]}
      sideways
      onPoint={(node: number | null) => node !== null && !held && pick(node)}
      onReveal={(node: number) => reveal([node])}
    />
  );
  render(tree, place);
}

/** Return the drawing of the whole tree, for a picture. */
export function wholeTree() {
  showGrowingTree(true);
  return $(".sv-grow-view > svg");
}

/** Return the guesses that exist at this step. */
function nodes(): Record<string, Node> {
  const { nodes: all, verdict } = answer();
  const path = new Set(view.picked < 0 ? [] : [0, ...pathTo(view.picked)]);
  const accepted = new Set(verdict.path);
  const judged = new Set(verdict.decisions.map((one) => one.node));
  const made: Record<string, Node> = {};
  for (let id = 0; id < step().born; id += 1) {
    const { w, label, parent, q, total, depth } = all[id];
    const is = stateOf(id, accepted, judged);
    const name = `${flat(w)}${id ? ` at +${depth}` : ""}, ${SAID[is] ?? is}`;
    made[id] = { w, label, parent, q, total, is, name, lit: path.has(id) };
  }
  return made;
}

function stateOf(id: number, accepted: Set<number>, judged: Set<number>) {
  const { kind } = step();
  if (!LATE.includes(kind)) return growingState(id);
  if (!id) return "root";
  if (answer().nodes[id].row === null) return "dropped";
  if (kind !== "verify") return "kept";
  return accepted.has(id) ? "accepted" : judged.has(id) ? "rejected" : "unreached";
}

function growingState(id: number) {
  const { level, node: read } = step();
  if (id === read) return "reading";
  if (level?.includes(id)) return "frontier";
  if (!id) return "root";
  return answer().nodes[id].parent === read ? "fresh" : "pool";
}

/**
 * Scroll the view, but not the page, to some guesses, and draw what is visible there. If not all of
 * them fit, the first one is visible.
 */
function reveal(nodes: number[]) {
  const place = $(".sv-grow-view");
  const { clientHeight, clientWidth, scrollLeft, scrollTop } = place;
  const boxes = nodes.map((node) => {
    const [x, y] = layout().places[node].map((at) => at * scale());
    const wide = answer().nodes[node].label.pill * scale();
    return { left: x, right: x + wide, top: y - EDGE, bottom: y + EDGE };
  });
  const [top, bottom] = span(boxes, "top", "bottom", clientHeight);
  const [left, right] = span(boxes, "left", "right", clientWidth);
  if (top < scrollTop || bottom > scrollTop + clientHeight)
    place.scrollTop = (top + bottom - clientHeight) / 2;
  if (left < scrollLeft || right > scrollLeft + clientWidth)
    place.scrollLeft = Math.max(left - 80, right - clientWidth);
  showGrowingTree();
}

/** From where to where all boxes reach, or only the first one if this is more than `most`. */
function span<Side extends string>(
  boxes: Record<Side, number>[],
  from: Side,
  to: Side,
  most: number,
): [number, number] {
  const start = Math.min(...boxes.map((box) => box[from]));
  const end = Math.max(...boxes.map((box) => box[to]));
  return end - start <= most ? [start, end] : [boxes[0][from], boxes[0][to]];
}

/** Scroll to what a step's sentence is about. */
export function follow() {
  if (!$(".sv-grow-view").clientHeight) return; // another tab is open
  const found = subjects().filter((node) => Object.hasOwn(layout().places, node));
  if (found.length) reveal(found);
}

/**
 * The guesses that a step's sentence is about: the accepted path, or if it is empty the judged
 * guesses; the first and last child of the expanded guess, and this guess; or the frontier.
 */
function subjects(): number[] {
  const { kind, node, level, born } = step();
  const { nodes: all, verdict } = answer();
  if (kind === "verify") {
    return verdict.path.length ? verdict.path : verdict.decisions.map((one) => one.node);
  }
  if (node === undefined) return level ?? [];
  const kids = all.map((_, at) => at).filter((at) => at < born && all[at].parent === node);
  return [kids[0] ?? node, kids[kids.length - 1] ?? node, node];
}

let held: { x: number; y: number; left: number; top: number } | null = null; // where the mouse started to drag the tree

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
