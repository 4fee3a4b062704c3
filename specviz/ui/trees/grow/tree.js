// The tree: one group a guess, drawn once an answer; a step only changes what the groups are.

import { flat } from "../../shared/dom.js";
import { pick } from "./pick.js";
import { $ } from "./stage.js";
import { answer, pathTo, step, view } from "./state.js";

/** @import { Place } from "./data.js" */

const SVG = "http://www.w3.org/2000/svg";
const HIGH = 21; // of a pill
const TRUNK = 52; // before a column, where lines turn
/** @type {Map<number, SVGGElement>} */
let groups = new Map();

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

const layout = () => answer().layouts[view.shown];

/** Draws the whole tree anew. */
export function drawTree() {
  const { places, columns, width, height } = layout();
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, class: "sv-grow-svg" });
  columns.forEach((x, at) => {
    const name = at ? "+" + at : "the text’s last token";
    svg.append(draw("text", { x: x + 2, y: 14, class: "sv-grow-head" }, name));
  });
  groups = new Map();
  const lines = draw("g", {});
  const boxes = draw("g", {});
  for (const [name, place] of Object.entries(places)) {
    const node = Number(name);
    const parent = places[String(answer().nodes[node].parent)];
    const group = draw("g", { class: "sv-grow-node", "data-node": node });
    if (parent) lines.append(line(node, parent, place));
    group.append(...box(node, place));
    boxes.append(group);
    groups.set(node, group);
  }
  svg.append(lines, boxes);
  $(".sv-grow-view").replaceChildren(svg);
  zoomed();
  showStep();
}

/** @param {number} node @param {Place} from @param {Place} to */
function line(node, [x0, y0, wide], [x, y]) {
  const turn = x - TRUNK;
  const d = y === y0 ? `M${x0 + wide} ${y}H${x}` : `M${turn} ${y0}V${y - 6}q0 6 6 6H${x}`;
  return draw("path", { d, class: "sv-grow-line", "data-line": node });
}

/** @param {number} node @param {Place} place */
function box(node, [x, y, wide, label]) {
  const { total, w } = answer().nodes[node];
  const made = [
    draw("title", {}, flat(w)),
    draw("rect", { x, y: y - HIGH / 2, width: wide, height: HIGH, rx: 5 }),
    draw("text", { x: x + 8, y: y + 4.5, class: "sv-grow-word" }, label),
  ];
  if (total) made.push(draw("text", { x: x - 5, y: y - 4, class: "sv-grow-total" }, total));
  return made;
}

/** What every guess is at this step: a word for its class. @param {number} node */
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

const SIGNS = { accepted: "M-4 .5-1.3 3.2 4-3.2", rejected: "M-3.4-3.4 3.4 3.4M3.4-3.4-3.4 3.4" };

/** Shows the step in hand on the drawn tree. */
export function showStep() {
  const { born, node: read } = step();
  const { places } = layout();
  for (const [node, group] of groups) {
    const is = role(node);
    group.setAttribute("class", "sv-grow-node sv-grow-is-" + is);
    group.querySelector(".sv-grow-mark")?.remove();
    if (is === "accepted" || is === "rejected") group.append(sign(places[String(node)], SIGNS[is]));
    const fresh =
      read !== undefined && node > 0 && answer().nodes[node].parent === read && node < born;
    group.classList.toggle("sv-grow-fresh", fresh);
  }
  for (const path of $(".sv-grow-svg").querySelectorAll("[data-line]"))
    path.classList.toggle("sv-grow-unborn", Number(path.getAttribute("data-line")) >= born);
  showPicked();
}

/** @param {Place} place @param {string} d */
function sign([x, y, wide], d) {
  const made = draw("g", { class: "sv-grow-mark", transform: `translate(${x + wide + 1} ${y})` });
  made.append(draw("circle", { r: 7.5 }), draw("path", { d }));
  return made;
}

/** The guess that is pointed at, with its path. */
export function showPicked() {
  const path = new Set(view.picked < 0 ? [] : [0, ...pathTo(view.picked)]);
  for (const [node, group] of groups) {
    group.classList.toggle("sv-grow-on", path.has(node));
    group.classList.toggle("sv-grow-picked", node === view.picked);
  }
  for (const one of [...$(".sv-grow-svg").querySelectorAll("[data-line]")]) {
    const on = path.has(Number(one.getAttribute("data-line")));
    one.classList.toggle("sv-grow-on", on);
    if (on) one.parentNode?.append(one); // over the lines that it shares a trunk with
  }
}

/** The tree at the zoom in hand; 0 is as wide as there is room. */
export function zoomed() {
  const { width, height } = layout();
  const room = $(".sv-grow-view").clientWidth;
  const scale = view.zoom || Math.min(1, room / width);
  const svg = $(".sv-grow-svg");
  svg.setAttribute("width", String(Math.round(width * scale)));
  svg.setAttribute("height", String(Math.round(height * scale)));
}

/** Lets the tree be dragged, pointed at, and walked by keys. */
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
  place.addEventListener("keydown", (event) => {
    const to = neighbour(event.key);
    if (to === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    pick(to);
    groups.get(to)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
}

/** The guess that a key leads to; null where it leads nowhere. @param {string} key */
function neighbour(key) {
  const { nodes } = answer();
  const now = Math.max(0, view.picked);
  const seen = [...groups.keys()].filter((node) => node < step().born);
  if (key === "ArrowLeft") return now ? nodes[now].parent : null;
  if (key === "ArrowRight") return seen.find((node) => node && nodes[node].parent === now) ?? null;
  if (key !== "ArrowDown" && key !== "ArrowUp") return null;
  const column = seen.filter((node) => nodes[node].depth === nodes[now].depth);
  column.sort((a, b) => layout().places[a][1] - layout().places[b][1]);
  return column[column.indexOf(now) + (key === "ArrowDown" ? 1 : -1)] ?? null;
}
