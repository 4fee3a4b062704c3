// A draft tree, a chain and the best tree of the same size, by the formula.

import { flat } from "../../shared/dom.js";
import { DraftTree, Facts } from "../../shared/draft_tree.js";
import { there } from "../../shared/there.js";
import { h, render } from "../../shared/view.js";

/** @import { Card } from "./answer.py" */

/** @param {Card} card @param {number} most The tokens of the best tree. */
const TreeCard = ({ name, tree, tokens, numbers }, most) =>
  h(
    "div",
    { class: "sv-law-card", key: name },
    h("h4", null, name),
    h(
      "div",
      { class: "sv-law-tree" },
      ExpectedTree(`${name}: ${numbers.tokens} tokens a round`, tree),
    ),
    h("p", { class: "sv-twig-facts" }),
    h(
      "div",
      { class: "sv-law-bar" },
      h("span", null, "tokens"),
      h("i", { class: "sv-law-brings", style: { "--wide": String(tokens / most) } }),
      h("b", { "data-card": "tokens" }, numbers.tokens),
    ),
    h(
      "p",
      { class: "sv-law-note" },
      "levels ",
      h("b", { "data-card": "levels" }, numbers.levels),
      " · speed-up ",
      h("b", { "data-card": "speedup" }, numbers.speedup),
    ),
  );

/** A tree of ranks, with bars for how often each token is accepted. @param {string} label @param {Card["tree"]} tree */
function ExpectedTree(label, { nodes, layout }) {
  const drawn = nodes.map((node, at) =>
    at
      ? { ...node, is: "waiting", name: facts(node).join(", ") }
      : { ...node, both: undefined, is: "root" },
  );
  return h(DraftTree, {
    nodes: Object.fromEntries(drawn.entries()),
    layout,
    label,
    sideways: true,
    onPoint: (/** @type {number | null} */ at, /** @type {Element} */ svg) =>
      render(Facts(at ? facts(nodes[at]) : []), there(svg.parentElement?.nextElementSibling)),
  });
}

/** @param {Card["tree"]["nodes"][number]} node */
const facts = ({ w, both }) => [
  `rank ${flat(w)}`,
  `accepted in ${(100 * both).toFixed(1)}% of rounds`,
];

/** @param {Card[]} cards */
export function TreeCards(cards) {
  const most = Math.max(...cards.map((card) => card.tokens));
  return cards.map((card) => TreeCard(card, most));
}
