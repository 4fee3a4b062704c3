// The guesses of a round: a row of words, or a tree if some are alternatives for the same word.

import { classes, RunningToken } from "../shared/view";
import { knowsTerms } from "./mode";
import { Bars } from "./simple_bars";
import { guessRow } from "./simple_rows";
import { player } from "./state";
import { percentText } from "./percents";
import { guesser } from "./lanes";

import type { ComponentChild } from "preact";
import type { DrawnFrame as Frame } from "../../figures/frame.py";

type Nodes = Frame["tree"]["nodes"];

const LEAVES = 6; // rows of a tree that are shown

export function Guesses({ tree }: Frame) {
  const { nodes } = tree;
  const all = Object.keys(nodes).length;
  if (!all) return <p class="sv-picture-none">No guess: nothing to check.</p>;
  const sampled = Object.values(nodes).some(({ q }) => q !== undefined);
  const most = [4, 3, 2, 1].find((each) => leaves(nodes, 0, each) <= LEAVES) ?? 1;
  const left = all - shown(nodes, 0, most);
  const chain = Object.values(nodes).every(({ depth }, at) => depth === at + 1);
  const keys = (
    <p class="sv-picture-keys">
      {sampled ? (
        <span>
          <i class="sv-sw sv-sw-q" />
          {`how often the ${guesser()} says it here`}
        </span>
      ) : null}
      {knowsTerms() ? null : <span>a “word” is a token: a word or a piece of one</span>}
      {left ? <span>{`and ${left} more`}</span> : null}
    </p>
  );
  if (chain && sampled) return Chain(Object.values(nodes), keys);
  return (
    <div class="sv-drafted">
      {chain ? (
        <ol class="sv-ahead-row">
          {Object.entries(nodes).map(([id, node]) => (
            <li key={id}>{Guess(node)}</li>
          ))}
        </ol>
      ) : (
        Branches(nodes, 0, most)
      )}
      {keys}
    </div>
  );
}

/** One bar for each guess; the space is that of the whole chain, so that nothing moves as it grows. */
function Chain(guesses: Nodes[string][], keys: ComponentChild) {
  const all = player.rounds[player.at.round].frames.filter(({ step }) => step.kind === "propose");
  return (
    <div class="sv-picture-main sv-chain" style={{ "--guesses": String(all.length) }}>
      {Bars(guesses.map(guessRow), "q")}
      {keys}
    </div>
  );
}

const childrenOf = (nodes: Nodes, parent: number, most: number) =>
  Object.keys(nodes)
    .map(Number)
    .filter((id) => nodes[id].parent === parent)
    .slice(0, most);

function leaves(nodes: Nodes, parent: number, most: number): number {
  const children = childrenOf(nodes, parent, most);
  return children.reduce((sum, id) => sum + leaves(nodes, id, most), 0) || 1;
}

function shown(nodes: Nodes, parent: number, most: number): number {
  return childrenOf(nodes, parent, most).reduce((sum, id) => sum + 1 + shown(nodes, id, most), 0);
}

/** @param most How many alternatives of one word are shown. */
function Branches(nodes: Nodes, parent: number, most: number) {
  const children = childrenOf(nodes, parent, most);
  if (!children.length) return null;
  return (
    <ol class={classes("sv-branches", children.length > 1 && "sv-branches-many")}>
      {children.map((id) => (
        <li key={id}>
          {Guess(nodes[id])}
          {Branches(nodes, id, most)}
        </li>
      ))}
    </ol>
  );
}

const Guess = ({ w, q }: Nodes[string]) => (
  <span class="sv-ahead-word">
    {RunningToken(w)}
    {q === undefined ? null : <small>{percentText(q)}</small>}
  </span>
);
