// How to read the tree, in small pictures. (At temperature 0 p itself would reveal the verdict.)

import { drawing, el } from "../shared/dom.js";
import { $ } from "./stage.js";

/** @import { Stroke } from "../shared/data.js" */
/** @import { Tree } from "./data.js" */

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

/** @param {Tree} tree */
export function showKeys(tree) {
  const nodes = Object.values(tree.nodes);
  const soft = nodes.some((node) => node.soft !== undefined);
  const drawn = nodes.some((node) => node.q !== undefined);
  const siblings = new Set(nodes.map((node) => node.parent)).size < nodes.length;
  const hatched = siblings ? "; hatched: the remainder" : "";
  const bars = soft
    ? ["soft", "under a token: softmax at temperature 1"]
    : drawn
      ? ["pq", "under a token: p, and q below it" + hatched]
      : ["p", "under a token: p (no q)" + hatched];
  const keys = [
    bars,
    ...(drawn ? [["edge", "the width of an edge is q"]] : []),
    ["slot", "the token that ends the round"],
  ];
  const shown = nodes.length ? keys : [];
  $(".sv-keys").replaceChildren(
    ...shown.map(([sign, said]) =>
      el("li", "", drawing("0 0 34 11", SIGNS[sign], "sv-sign"), said),
    ),
  );
}
