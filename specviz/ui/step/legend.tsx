// Legends: the meaning of marks and colours, and small pictures on how to read the tree.

import { Drawing, LegendEntry, Mark, render, Swatch } from "../shared/view";
import { $ } from "./stage";

import type { Stroke } from "../../figures/marks.py";
import type { DrawnTree as Tree } from "../../figures/tree.py";

/** Show what the marks mean. */
export function showMarks() {
  const marks = ["accepted", "rejected", "recovered", "bonus", "unreached"].map((state) =>
    LegendEntry(state, state === "unreached" ? "not reached" : state, Mark(state)),
  );
  render(marks, $(".sv-marks"));
}

/** What the colours mean. */
export const Hues = () => [
  LegendEntry("p", "target p", Swatch("p")),
  LegendEntry("q", "drafter q", Swatch("q")),
  LegendEntry("both", "both", Swatch("b")),
  LegendEntry("residual", "residual", Swatch("r")),
];

const SIGNS: Record<string, Stroke[]> = {
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

/** How to read a tree. (At temperature 0, p would reveal the verdict.) */
export function TreeKey(tree: Tree) {
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
  return entries.map(([sign, label]) => (
    <li key={sign}>
      {Drawing("0 0 34 11", SIGNS[sign], "sv-sign")}
      {label}
    </li>
  ));
}
