// The draft tree: the figure, and on narrow screens a list by position.

import { el, flat, mark, percent, termed } from "../shared/dom.js";
import { plot } from "../shared/plot.js";
import { there } from "../shared/there.js";
import { light, link } from "./hover_links.js";
import { showKeys } from "./keys.js";
import { widthOf } from "./room.js";
import { squash } from "./size.js";
import { $, stage } from "./stage.js";
import { chip } from "./text.js";
import { pickNode } from "./whatif.js";

/** @import { Child, Hovered } from "../shared/data.js" */
/** @import { Entry, Guess, Slot, Tree } from "./data.js" */

/** @param {HTMLElement} place @param {[term: string, label: string, sign: Child][]} entries */
export function legend(place, entries) {
  place.replaceChildren(
    ...entries.map(([term, label, sign]) =>
      termed(el("span", "sv-key sv-key-" + term, sign, label), term),
    ),
  );
}

/** @param {string} name */
export const swatch = (name) => el("i", "sv-sw sv-sw-" + name);

export function legends() {
  legend($(".sv-marks"), [
    ["accepted", "accepted", mark("accepted")],
    ["rejected", "rejected", mark("rejected")],
    ["recovered", "recovered", mark("recovered")],
    ["bonus", "bonus", mark("bonus")],
    ["unreached", "not reached", mark("unreached")],
  ]);
  legend($(".sv-hues"), [
    ["p", "target p", swatch("p")],
    ["q", "drafter q", swatch("q")],
    ["both", "both", swatch("b")],
    ["residual", "residual", swatch("r")],
  ]);
}

/** @param {Tree} tree */
export function plotTree(tree) {
  plot($(".sv-tree"), tree.figure, {
    onPick: pickNode,
    onHover: feel,
    squash: squash(),
    room: widthOf("tree"),
  });
}

// What the pointer is over: its facts are written below the tree, where they cover no word of it.
/** @param {Hovered | null} point */
function feel(point) {
  showFelt(point ? point.hovertext : "");
  const spots = stage.all(".sv-spot");
  const at = point ? spots[point.pointNumber] : null;
  light(at?.dataset.link?.split("\n") ?? []);
}

// A hover text is plotly's: lines, a bold word, and three letters escaped.
/** @param {string} text */
function showFelt(text) {
  const place = $(".sv-felt");
  place.hidden = !text;
  const plain = text
    .replaceAll(/<\/?b>/g, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
  place.replaceChildren(...plain.split("<br>").map((each) => el("span", "", each)));
}

/** @param {Tree} tree */
export function showTree(tree) {
  const guesses = Object.keys(tree.nodes).length;
  const said = guesses === 1 ? "1 guess" : guesses + " guesses";
  $(".sv-sub").textContent = guesses ? "· " + said : "· nothing drafted";
  $(".sv-tree").setAttribute("aria-label", "Draft tree: " + said);
  showSpots(tree);
  const more = tree.figure.more;
  const hidden = [
    more.deeper ? "+" + more.deeper + " deeper" : "",
    more.lower ? "+" + more.lower + " on other branches" : "",
  ].filter(Boolean);
  showKeys(tree);
  $(".sv-more").textContent = hidden.join(", ");
  $(".sv-list").replaceChildren(...positions(tree));
}

// For the keyboard: a button over every guess in the window, one of them in the order of tabs.
/** @param {Tree} tree */
function showSpots(tree) {
  const felt = tree.figure.data["80-hover"];
  const spots = felt.customdata.map((node, index) => {
    const view = node < 0 ? there(tree.slot) : tree.nodes[node];
    const made = el("button", "sv-spot");
    made.type = "button";
    made.tabIndex = index ? -1 : 0;
    const name = flat(there(view.w));
    made.setAttribute("aria-label", name + " at +" + view.depth + ", " + view.is);
    link(made, "node " + node, "word " + name);
    made.addEventListener("focus", () => showFelt(felt.hovertext[index]));
    made.addEventListener("blur", () => showFelt(""));
    made.style.left = felt.x[index] - 30 + "px";
    made.style.top = felt.y[index] * squash() - 15 + "px";
    made.addEventListener("click", () => pickNode(node));
    return made;
  });
  $(".sv-spots").replaceChildren(...spots);
}

// Where there is no room for all columns, the one that is spoken of is in sight.
/** @param {Tree} tree */
export function follow(tree) {
  const { customdata, x } = tree.figure.data["80-hover"];
  const asked = tree.slot ? customdata.indexOf(-1) : customdata.indexOf(tree.here ?? 0);
  const proposed = Object.values(tree.nodes).every((node) => node.is === "waiting");
  const right = asked >= 0 ? x[asked] + 46 : proposed ? Math.max(0, ...x) + 46 : 0;
  const list = $(".sv-list");
  const here = tree.slot ?? tree.nodes[tree.here ?? 0];
  list.scrollTop = here ? (here.depth - 4) * 26 : 0;
  const box = $(".sv-treebox");
  const width = widthOf("columns");
  const columns = Math.ceil((right - width) / 92);
  box.scrollLeft = columns > 0 ? columns * 92 : 0;
  const most = Math.max(0, ...x) + 30;
  box.classList.toggle("sv-more-right", most > box.scrollLeft + width);
}

// One row a position: the guess that is followed, its p and q, and its siblings folded.
/** @param {Tree} tree */
function positions(tree) {
  const rows = [];
  let parent = 0;
  for (let depth = 1; ; depth += 1) {
    const here = Object.entries(tree.nodes).filter(([, node]) => node.parent === parent);
    const slot = tree.slot && tree.slot.parent === parent ? tree.slot : null;
    if (!here.length && !slot) break;
    const order = ["accepted", "waiting", "unreached", "rejected"];
    const lead = [...here].sort((a, b) => order.indexOf(a[1].is) - order.indexOf(b[1].is))[0];
    rows.push(position(depth, lead, here, slot));
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
function position(depth, lead, here, slot) {
  const siblings = here.filter((entry) => entry !== lead);
  const row = el(
    "li",
    "sv-row" + (lead ? " sv-row-" + lead[1].is : ""),
    el("span", "sv-at", "+" + depth),
  );
  row.append(lead ? chip(lead[1], Number(lead[0])) : el("span"));
  row.append(lead ? bars(lead[1]) : el("span"));
  const folded = el("span", "sv-sibs", ...siblings.map(([node, view]) => chip(view, Number(node))));
  if (slot) folded.append(slot.w ? chip(slot) : el("span", "sv-chip sv-slot", "?"));
  row.append(folded);
  return row;
}

/** @param {Guess} node */
function bars(node) {
  const made = el("span", "sv-bars");
  /** @type {[name: string, value: number | undefined, left: number | undefined][]} */
  const all = [
    ["p", node.p, node.left],
    ["soft", node.soft, undefined],
    ["q", node.q, node.left_q],
  ];
  for (const [name, value, left] of all) {
    if (value === undefined) continue;
    const bar = el("i", "sv-bar-" + name + (left === undefined ? "" : " sv-left-" + name));
    bar.style.width = percent(left ?? value);
    made.append(bar);
  }
  return made;
}
