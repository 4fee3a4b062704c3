// Legends: the meaning of marks and colours, and small pictures on how to read the tree.

import { Drawing, h, Mark, render, termAttributes } from "../shared/view.js";
import { $ } from "./stage.js";

/** @import { ComponentChild } from "preact" */
/** @import { Stroke } from "../../figures/marks.py" */
/** @import { DrawnTree as Tree } from "../../figures/tree.py" */

/** @param {string} term @param {string} label @param {ComponentChild} sign */
export const LegendEntry = (term, label, sign) =>
  h("span", { class: "sv-key sv-key-" + term, ...termAttributes(term) }, sign, label);

/** @param {string} hue */
export const Swatch = (hue) => h("i", { class: "sv-sw sv-sw-" + hue });

// Show the legends that do not depend on the step.
export function showLegends() {
  const marks = ["accepted", "rejected", "recovered", "bonus", "unreached"].map((state) =>
    LegendEntry(state, state === "unreached" ? "not reached" : state, Mark(state)),
  );
  render(marks, $(".sv-marks"));
  const hues = [
    LegendEntry("p", "target p", Swatch("p")),
    LegendEntry("q", "drafter q", Swatch("q")),
    LegendEntry("both", "both", Swatch("b")),
    LegendEntry("residual", "residual", Swatch("r")),
  ];
  render(hues, $(".sv-hues"));
}

/** @type {Record<string, Stroke[]>} */
const SIGNS = {
  pq: [
    ["M0 1h30v4H0z", "sv-sign-p"],
    ["M0 6h20v4H0z", "sv-sign-q"],
  ],
  p: [["M0 3h30v5H0z", "sv-sign-p"]],
  soft: [["M0 3h30v5H0z", "sv-sign-soft"]],
  edge: [
    ["M0 1.5h34v8H0z", "sv-sign-edge"],
    ["M0 5h34v1H0z", "sv-sign-core"],
  ],
  slot: [["M1 1h28v9H1z", "sv-sign-slot"]],
};

/** How to read a tree. (At temperature 0, p would reveal the verdict.) @param {Tree} tree */
export function TreeKey(tree) {
  const nodes = Object.values(tree.nodes);
  if (!nodes.length) return null;
  const soft = nodes.some((node) => node.soft !== undefined);
  const sampled = nodes.some((node) => node.q !== undefined);
  const siblings = new Set(nodes.map((node) => node.parent)).size < nodes.length;
  const hatched = siblings ? "; hatched: p′ and q′" : "";
  const bars = soft
    ? ["soft", "bar below: the target’s probability at temperature 1"]
    : sampled
      ? ["pq", "bars below: p on top, q under it" + hatched]
      : ["p", "bar below: p (no q)" + hatched];
  const entries = [
    bars,
    ...(sampled ? [["edge", "the width of an edge is q"]] : []),
    ["slot", "the token that ends the round"],
  ];
  return entries.map(([sign, label]) =>
    h("li", { key: sign }, Drawing("0 0 34 11", SIGNS[sign], "sv-sign"), label),
  );
}
