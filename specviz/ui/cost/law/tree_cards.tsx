// A draft tree, a chain and the best tree of the same size, by the formula.

import { flat } from "../../shared/dom";
import { DraftTree, Facts } from "../../shared/draft_tree";
import { there } from "../../shared/there";
import { render } from "../../shared/view";

import type { Card } from "./answer.py";

/** @param most The tokens of the best tree. */
const TreeCard = ({ name, tree, tokens, numbers }: Card, most: number) => (
  <div class="sv-law-card" key={name}>
    <h4>{name}</h4>
    <div class="sv-law-tree">{ExpectedTree(`${name}: ${numbers.tokens} tokens a round`, tree)}</div>
    <p class="sv-twig-facts" />
    <div class="sv-law-bar">
      <span>tokens</span>
      <i class="sv-law-brings" style={{ "--wide": String(tokens / most) }} />
      <b data-card="tokens">{numbers.tokens}</b>
    </div>
    <p class="sv-law-note">
      {"levels "}
      <b data-card="levels">{numbers.levels}</b>
      {" · speed-up "}
      <b data-card="speedup">{numbers.speedup}</b>
    </p>
  </div>
);

/** A tree of ranks, with bars for how often each token is accepted. */
function ExpectedTree(label: string, { nodes, layout }: Card["tree"]) {
  const drawn = nodes.map((node, at) =>
    at
      ? { ...node, is: "waiting", name: facts(node).join(", ") }
      : { ...node, both: undefined, is: "root" },
  );
  return (
    <DraftTree
      nodes={Object.fromEntries(drawn.entries())}
      layout={layout}
      label={label}
      sideways
      onPoint={(at: number | null, svg: Element) =>
        render(Facts(at ? facts(nodes[at]) : []), there(svg.parentElement?.nextElementSibling))
      }
    />
  );
}

const facts = ({ w, both }: Card["tree"]["nodes"][number]) => [
  `rank ${flat(w)}`,
  `accepted in ${(100 * both).toFixed(1)}% of rounds`,
];

export function TreeCards(cards: Card[]) {
  const most = Math.max(...cards.map((card) => card.tokens));
  return cards.map((card) => TreeCard(card, most));
}
