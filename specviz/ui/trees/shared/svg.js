// A tree as SVG, drawn once: a group for every guess, a path for every line. Callers set classes
// that show the state of each guess.

import { flat } from "../../shared/dom.js";

/** @import { Layout, Place, Twig } from "./data.js" */

const SVG = "http://www.w3.org/2000/svg";
const HIGH = 21; // of a pill

/**
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | number>} facts
 * @param {string} [text]
 */
export function draw(tag, facts, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(facts)) made.setAttribute(name, String(value));
  if (text !== undefined) made.textContent = text;
  return made;
}

/**
 * Return the tree's SVG and its groups by node; with `seen`, only what lies between two heights.
 * @param {Layout} layout
 * @param {Twig[]} nodes
 * @param {[low: number, high: number]} [seen]
 * @returns {[svg: SVGSVGElement, groups: Map<number, SVGGElement>]}
 */
export function treeOf({ places, columns, width, height, gap }, nodes, seen = [0, height]) {
  const [low, high] = seen;
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, class: "sv-twig-svg" });
  svg.setAttribute("width", String(Math.round(width)));
  svg.setAttribute("height", String(Math.round(height)));
  columns.forEach((x, at) => {
    svg.append(
      draw("text", { x: x + 2, y: 14, class: "sv-twig-head" }, at ? "+" + at : "last token"),
    );
  });
  /** @type {Map<number, SVGGElement>} */
  const groups = new Map();
  const lines = draw("g", {});
  const boxes = draw("g", {});
  for (const [name, place] of Object.entries(places)) {
    const node = Number(name);
    const parent = places[String(nodes[node].parent)];
    if (parent && place[1] >= low && parent[1] <= high)
      lines.append(line(node, parent, place, gap));
    if (place[1] < low || place[1] > high) continue;
    const group = draw("g", { class: "sv-twig-node", "data-node": node });
    group.append(...box(nodes[node], place));
    boxes.append(group);
    groups.set(node, group);
  }
  svg.append(lines, boxes);
  return [svg, groups];
}

/** @param {number} node @param {Place} from @param {Place} to @param {number} gap */
function line(node, [x0, y0, wide], [x, y], gap) {
  const turn = x - gap + 8;
  const d = y === y0 ? `M${x0 + wide} ${y}H${x}` : `M${turn} ${y0}V${y - 6}q0 6 6 6H${x}`;
  return draw("path", { d, class: "sv-twig-line", "data-line": node });
}

/** @param {Twig} twig @param {Place} place */
function box({ total, w }, [x, y, wide, label]) {
  /** @type {SVGElement[]} */
  const made = [
    draw("rect", { x, y: y - HIGH / 2, width: wide, height: HIGH, rx: 5 }),
    draw("text", { x: x + 8, y: y + 4.5, class: "sv-twig-word" }, label),
  ];
  if (label.endsWith("…")) made.push(draw("title", {}, flat(w)));
  if (total) made.push(draw("text", { x: x - 5, y: y - 4, class: "sv-twig-total" }, total));
  return made;
}

const SIGNS = { accepted: "M-4 .5-1.3 3.2 4-3.2", rejected: "M-3.4-3.4 3.4 3.4M3.4-3.4-3.4 3.4" };

/** Set the class of a guess, and its mark if it was judged. @param {SVGGElement} group @param {string} is @param {Place} place */
export function become(group, is, [x, y, wide]) {
  group.setAttribute("class", "sv-twig-node sv-twig-is-" + is);
  if (group.lastElementChild?.classList.contains("sv-twig-mark")) group.lastElementChild.remove();
  if (is !== "accepted" && is !== "rejected") return;
  const made = draw("g", { class: "sv-twig-mark", transform: `translate(${x + wide + 9} ${y})` });
  made.append(draw("circle", { r: 7.5 }), draw("path", { d: SIGNS[is] }));
  group.append(made);
}
