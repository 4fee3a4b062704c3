// The tree: one SVG group per guess, drawn once per answer; a step only changes classes.

import { become, treeOf } from "../shared/svg.js";
import { pick } from "./pick.js";
import { $ } from "./stage.js";
import { answer, pathTo, step, view } from "./state.js";

/** @import { Place } from "../shared/data.js" */

/** @type {Map<number, SVGGElement>} */
let groups = new Map();

const ROW = 27; // as figures/whole_tree.py has it
const HEAD = 24;
let drawnLevel = -1; // the deepest level of what is drawn; -1 for the whole pool

/** The deepest level at this step; -1 once the whole pool is present. */
function level() {
  const { kind, born } = step();
  const late = kind === "rerank" || kind === "mask" || kind === "verify";
  return late ? -1 : answer().nodes[born - 1].depth;
}

/** The layout; while the tree grows, as if there were no deeper levels. */
function layout() {
  const base = answer().layouts[view.shown];
  const rows = answer().rows[level()];
  if (view.shown === "kept" || !rows) return base;
  /** @type {Record<string, Place>} */
  const places = {};
  rows.forEach((row, node) => {
    const [x, , wide, label] = base.places[String(node)];
    places[String(node)] = [x, HEAD + ROW * (row + 0.5), wide, label];
  });
  return { ...base, places, height: HEAD + ROW * (Math.max(...rows) + 1) + 4 };
}

const HIGHEST = 760; // of the view, see its style sheet
const MORE = 400; // pixels drawn beyond what is in view, at either side
let drawnAt = 0; // how far the view was scrolled then

const scale = () => view.zoom || Math.min(1, $(".sv-grow-view").clientWidth / layout().width);

/**
 * Draw the visible part of the tree, so that large trees are as fast as small ones.
 * @param {boolean} [whole] Draw all of it.
 */
export function drawTree(whole = false) {
  const place = $(".sv-grow-view");
  drawnLevel = level();
  const top = place.scrollTop;
  drawnAt = top;
  const high = (top + HIGHEST + MORE) / scale();
  /** @type {[low: number, high: number] | undefined} */
  const part = whole ? undefined : [(top - MORE) / scale(), high];
  const [svg, drawn] = treeOf(layout(), answer().nodes, part);
  groups = drawn;
  place.replaceChildren(svg);
  const { width, height } = layout();
  svg.setAttribute("width", String(Math.round(width * scale())));
  svg.setAttribute("height", String(Math.round(height * scale())));
  showStep();
}

/** The drawing of the whole tree, for a picture. */
export function wholeTree() {
  drawTree(true);
  return $(".sv-twig-svg");
}

/** The class of a guess at this step. @param {number} node */
function role(node) {
  const { kind, born, level, node: read } = step();
  if (node >= born) return "unborn";
  const late = kind === "rerank" || kind === "mask" || kind === "verify";
  if (!late) {
    if (node === read) return "reading";
    return level?.includes(node) ? "frontier" : "pool";
  }
  if (answer().nodes[node].row === null) return "dropped";
  if (kind !== "verify" || !node) return "kept";
  const { path, decisions } = answer().verdict;
  if (path.includes(node)) return "accepted";
  return decisions.some((one) => one.node === node) ? "rejected" : "unreached";
}

/** Show the current step on the drawn tree; redraw it for another level. */
export function showStep() {
  if (drawnLevel !== level()) {
    drawTree();
    return;
  }
  const { born, node: read } = step();
  const { places } = layout();
  for (const [node, group] of groups) {
    const is = role(node);
    become(group, is, places[String(node)]);
    const fresh =
      read !== undefined && node > 0 && answer().nodes[node].parent === read && node < born;
    group.classList.toggle("sv-twig-fresh", fresh);
  }
  for (const path of $(".sv-twig-svg").querySelectorAll("[data-line]"))
    path.classList.toggle("sv-twig-unborn", Number(path.getAttribute("data-line")) >= born);
  showPicked();
}

/** @type {Element[]} */
let lit = []; // what is drawn as the path that is pointed at

/** Highlight the selected guess and its path. */
export function showPicked() {
  for (const one of lit) one.classList.remove("sv-twig-on", "sv-twig-picked");
  const path = view.picked < 0 ? [] : [0, ...pathTo(view.picked)];
  const svg = $(".sv-twig-svg");
  lit = path.flatMap((node) => {
    const group = groups.get(node);
    const line = svg.querySelector(`[data-line="${node}"]`);
    line?.parentNode?.append(line); // over the lines that it shares a trunk with
    return [group, line].filter((one) => one instanceof Element);
  });
  for (const one of lit) one.classList.add("sv-twig-on");
  groups.get(view.picked)?.classList.add("sv-twig-picked");
}

/** Let the tree be dragged, pointed at, and navigated by keys. */
export function startTree() {
  const place = $(".sv-grow-view");
  /** @type {{ x: number, y: number, left: number, top: number } | null} */
  let held = null;
  place.addEventListener("pointerover", ({ target }) => {
    const group = target instanceof Element && target.closest("[data-node]");
    if (group && !held) pick(Number(group.getAttribute("data-node")));
  });
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
  place.addEventListener("scroll", () => {
    if (Math.abs(place.scrollTop - drawnAt) > MORE / 2) drawTree();
  });
  place.addEventListener("keydown", (event) => {
    const to = neighbour(event.key);
    if (to === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    pick(to);
    reveal(to);
  });
}

/** Scroll to what a step added: the expanded guess, and its first and last child. */
export function follow() {
  const { node, born } = step();
  if (node === undefined) return;
  const { nodes } = answer();
  const kids = nodes.map((_, at) => at).filter((at) => at < born && nodes[at].parent === node);
  for (const at of [node, kids[kids.length - 1] ?? node, kids[0] ?? node]) {
    if (String(at) in layout().places) reveal(at);
  }
}

/** Scroll the view, but not the page, to a guess. @param {number} node */
function reveal(node) {
  const place = $(".sv-grow-view");
  const [x, y, wide] = layout()
    .places[String(node)].slice(0, 3)
    .map((at) => Number(at) * scale());
  const { clientHeight, clientWidth, scrollLeft, scrollTop } = place;
  if (y < scrollTop + 30 || y > scrollTop + clientHeight - 30)
    place.scrollTop = y - clientHeight / 2;
  if (x < scrollLeft || x + wide > scrollLeft + clientWidth) place.scrollLeft = x - 80;
}

/** The guess that a key leads to; null if there is none. @param {string} key */
function neighbour(key) {
  const { nodes } = answer();
  const now = Math.max(0, view.picked);
  const drawn = Object.keys(layout().places).map(Number);
  const seen = drawn.filter((node) => node < step().born);
  if (key === "ArrowLeft") return now ? nodes[now].parent : null;
  if (key === "ArrowRight") return seen.find((node) => node && nodes[node].parent === now) ?? null;
  if (key !== "ArrowDown" && key !== "ArrowUp") return null;
  const column = seen.filter((node) => nodes[node].depth === nodes[now].depth);
  column.sort((a, b) => layout().places[a][1] - layout().places[b][1]);
  return column[column.indexOf(now) + (key === "ArrowDown" ? 1 : -1)] ?? null;
}
