// Why one pass is cheap: the weights are read once, and all positions ride along. Beside it, what each
// position sees, so that one pass gives the same as one pass for each word.

import { flat } from "../shared/dom";
import { classes, RunningToken } from "../shared/view";
import { player } from "./state";
import { duration, medianPass, speedUp } from "./simple_times";

import type { ComponentChild } from "preact";
import type { DrawnFrame as Frame } from "../../figures/frame.py";

type Tree = Frame["tree"];

const MOST = 12; // positions that have a box

/** The pass of a step, and its measured time beside that of a pass for one word. */
export function Pass({ tree }: Frame, round: number) {
  const nodes = Object.values(tree.nodes);
  const words = [tree.root, ...nodes.slice(0, MOST - 1).map(({ w }) => w)];
  const more = nodes.length + 1 - words.length;
  const boxes: ComponentChild[] = round && nodes.length ? words.map(RunningToken) : [];
  if (more && boxes.length) boxes.push("+" + more);
  return (
    <div class="sv-picture-main">
      <div class="sv-weights">
        <div class="sv-weights-box">
          <i />
          <span>the big model’s weights, read once</span>
        </div>
        {boxes.length ? (
          <ol class="sv-riding">
            {boxes.map((box, at) => (
              <li key={at} class={classes("sv-rider", !at && "sv-rider-root")}>
                {box}
                <i />
              </li>
            ))}
          </ol>
        ) : null}
      </div>
      {Times(round, nodes.length)}
    </div>
  );
}

function Times(round: number, guesses: number) {
  const [, seconds] = player.rounds[round].seconds;
  const plain = medianPass();
  if (plain === null || !(guesses || round === 0)) {
    const name = round === 0 ? "whole prompt" : counted(guesses + 1);
    return <div class="sv-two-times">{TimeBar(name, seconds, seconds)}</div>;
  }
  const longest = Math.max(seconds, plain);
  return [
    <div class="sv-two-times">
      {TimeBar(round === 0 ? "whole prompt" : counted(guesses + 1), seconds, longest)}
      {TimeBar("1 word", plain, longest)}
    </div>,
    guesses && speedUp() ? (
      <p class="sv-cheap">{conclusion(guesses + 1, seconds / plain)}</p>
    ) : null,
  ];
}

const counted = (words: number) => (words === 1 ? "1 word" : words + " words");

/** Return what the two times say, if a run's times can be trusted; a pass that computing limits is not cheap. */
function conclusion(words: number, times: number) {
  const long = times < 1.05 ? "no longer than" : `only ${times.toFixed(1)} × as long as`;
  if (times < words / 2)
    return `Reading the weights takes most of the time, so ${words} words take ${long} one.`;
  return `Here computing limits the pass: ${words} words take ${times.toFixed(1)} × as long as one.`;
}

const TimeBar = (name: string, seconds: number, longest: number) => (
  <p key={name}>
    <span>{name}</span>
    <i style={{ "--share": (seconds / longest).toFixed(4) }} />
    <b>{duration(seconds)}</b>
  </p>
);

const WIDEST = 11; // words of the mask

/** Why one pass gives the same p as one pass per word: no position sees a later one. */
export function Mask({ root, nodes }: Tree) {
  const guesses = Object.values(nodes);
  if (!guesses.length) return null;
  const chain = guesses.every(({ depth }, at) => depth === at + 1);
  const before = "the words before it" + (chain ? "" : " on its branch");
  const words = [root, ...guesses.map(({ w }) => w)];
  return (
    <div class="sv-mask">
      <p>
        {`Each word sees only itself and ${before}`}
        {words.length > WIDEST ? "" : " (blue)"}
        {`. So this one pass gives the same probabilities as ${words.length} passes.`}
      </p>
      {words.length > WIDEST ? null : (
        <div
          class={classes("sv-mask-grid", words.length > 7 && "sv-mask-small")}
          role="img"
          aria-label={"Attention mask: each word sees itself and " + before}
        >
          {words.map((word, row) => (
            <div key={row} aria-hidden="true">
              <span class="sv-mask-word">{flat(word).replaceAll("␣", "")}</span>
              {words.map((_, column) => (
                <i key={column} class={sees(nodes, row, column) ? "sv-sees" : ""} />
              ))}
            </div>
          ))}
        </div>
      )}
    </div>
  );
}

/** Return whether a node (0 is the root) is another one or comes after it. */
const sees = (nodes: Tree["nodes"], node: number, other: number): boolean =>
  node === other || (node > 0 && sees(nodes, nodes[node].parent, other));
