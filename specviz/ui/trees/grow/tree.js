// The tree: one group a guess, drawn once an answer; a step only changes what the groups are.

import { become, treeOf } from "../shared/svg.js";
import { pick } from "./pick.js";
import { $ } from "./stage.js";
import { answer, pathTo, step, view } from "./state.js";

/** @type {Map<number, SVGGElement>} */
let groups = new Map();

const layout = () => answer().layouts[view.shown];

/** Draws the whole tree anew. */
export function drawTree() {
  const [svg, drawn] = treeOf(layout(), answer().nodes);
  groups = drawn;
  $(".sv-grow-view").replaceChildren(svg);
  zoomed();
  showStep();
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

/** Shows the step in hand on the drawn tree. */
export function showStep() {
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

/** The guess that is pointed at, with its path. */
export function showPicked() {
  const path = new Set(view.picked < 0 ? [] : [0, ...pathTo(view.picked)]);
  for (const [node, group] of groups) {
    group.classList.toggle("sv-twig-on", path.has(node));
    group.classList.toggle("sv-twig-picked", node === view.picked);
  }
  for (const one of [...$(".sv-twig-svg").querySelectorAll("[data-line]")]) {
    const on = path.has(Number(one.getAttribute("data-line")));
    one.classList.toggle("sv-twig-on", on);
    if (on) one.parentNode?.append(one); // over the lines that it shares a trunk with
  }
}

/** The tree at the zoom in hand; 0 is as wide as there is room. */
export function zoomed() {
  const { width, height } = layout();
  const room = $(".sv-grow-view").clientWidth;
  const scale = view.zoom || Math.min(1, room / width);
  const svg = $(".sv-twig-svg");
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
