// "What if": another u (coin), or another guess. The immediate effect is known; everything after it
// needs a new run with this u, see branch.js.

import { branch } from "./branch.js";
import { AnswerButton, SentencePart } from "./caption.js";
import { go, now, suppose } from "./cursor.js";
import { pause } from "./playback.js";
import { frameAt, reel, stepName } from "./reel.js";
import { stage } from "./stage.js";
import { h } from "../shared/view.js";

/** @import { TokenState } from "../../frames/scene.py" */
/** @import { DrawnTree as Tree } from "../../figures/tree.py" */
/** @import { DrawnFrame as Frame } from "../../figures/charts.py" */
/** @import { TossedPanel } from "../../frames/inspector.py" */
/** @import { Need } from "../../frames/leaf_first.py" */
/** @import { Share } from "../../frames/draw.py" */
/** @import { WhatIf } from "../../frames/whatif.py" */
/** @import { Part } from "../../texts/__init__.py" */
/** @typedef {Record<string, number>} Coins By name: "3 judge 2" is that of node 2 in round 3. */
/** @typedef {NonNullable<Tree["chances"]>} Chances */
/**
 * What is shown instead of what happened: another u, or another guess.
 * @typedef {object} Supposition
 * @property {Part[]} parts
 * @property {Coins | null} coins The coins that "Run it from here" sets; null if none can cause it.
 * @property {string} [run] Another label of that button, for coins that only may cause it.
 * @property {{ u: number, text: string }} [coin] Where the coin on screen was moved to.
 * @property {"accepted" | "rejected"} [is] The guess's other verdict, if it would change.
 */

// A click on a judged guess leads to its verdict; on any other, it asks which u would lead to it.
// The root, which is already in the text, does neither.
/** @param {number} node */
export function pickNode(node) {
  if (node === 0) return undefined;
  const judged = node < 0 ? "draw" : "judge-" + node;
  for (let step = 0; step <= now.at.step; step += 1) {
    if (stepName(now.at.round, step).id === judged) return go(now.at.round, step);
  }
  const kept = keptWith(node);
  if (kept !== null) return go(now.at.round, kept);
  if (node < 0 || now.question) return undefined;
  pause();
  return suppose(supposeGuess(node, frameAt(now.at.round, now.at.step).tree));
}

// Return the step whose verdict accepted a guess together with a later one; null for any other
// guess.
/** @param {number} node */
function keptWith(node) {
  if (frameAt(now.at.round, now.at.step).tree.nodes[node]?.is !== "accepted") return null;
  for (let step = now.at.step; step >= 0; step -= 1) {
    if (stepName(now.at.round, step).is === "accepted") return step;
  }
  return null;
}

/**
 * The sentence on the effect, the button that runs it if possible, and the way back.
 * @param {Supposition} whatIf
 */
export function WhatIfSentence({ parts, coins, run }) {
  return [
    ...parts.map(SentencePart),
    " ",
    h(
      "span",
      { class: "sv-answers" },
      coins && stage.config.served ? AnswerButton(run ?? "Run it from here", branch) : null,
      AnswerButton("Back", () => go(now.at.round, now.at.step)),
    ),
  ];
}

/**
 * Move u of the verdict on screen.
 * @param {number} to @param {TossedPanel} panel @param {WhatIf} whatif
 */
export function moveCoin(to, panel, whatif) {
  suppose(supposeCoin(snapped(to, panel.coin.threshold), panel, whatif));
}

/**
 * Move u of the draw on screen: another word would be drawn from the same shares.
 * @param {number} to @param {Share[]} shares
 */
export function moveDraw(to, shares) {
  const u = Math.round(Math.min(Math.max(to, 0), 0.999) * 1000) / 1000;
  const text = u.toFixed(3);
  let at = 0;
  const hit = shares.find(({ m }) => {
    at += m;
    return u < at;
  });
  /** @type {Part} */
  const token = hit?.w ? { w: hit.w } : "one of the other words";
  const parts = [
    "With the coin set to ",
    { n: text, as: "u" },
    ", the draw would give ",
    token,
    ".",
  ];
  suppose({ parts: /** @type {Part[]} */ (parts), coins: null, coin: { u, text } });
}

/**
 * Return the supposition of another u at a verdict: only the side of the threshold is certain.
 * @param {number} u
 * @param {TossedPanel} panel
 * @param {WhatIf} whatif
 * @returns {Supposition}
 */
function supposeCoin(u, { accepted, coin: { threshold }, w }, whatif) {
  const kept = u < threshold;
  const digits = digitsApart(u, threshold);
  const text = u.toFixed(digits);
  const coin = { u, text };
  /** @type {Part[]} */
  const parts = ["With the coin set to ", { n: text, as: "u" }];
  if (whatif.stuck) {
    const still = " would still be " + (accepted ? "accepted. " : "rejected. ");
    return { parts: [...parts, ", ", { w }, still, ...whatif.stuck], coins: null, coin };
  }
  const bar = threshold === 1 ? "1" : threshold.toFixed(digits);
  parts.push(kept ? ", below " : ", not below ", { n: bar, as: "both" }, ", ", { w });
  parts.push(kept === accepted ? " would still be " : " would be ");
  parts.push(kept ? "accepted. " : "rejected. ", ...whatif[kept ? "kept" : "rejected"]);
  const is = kept ? "accepted" : "rejected";
  return { parts, coins: { [whatif.coin]: u }, coin, is: kept === accepted ? undefined : is };
}

/**
 * Return a verdict's frame with the other verdict: in the tree, the text and the pass, the guess has
 * that verdict, and nothing is shown of what followed the real one.
 * @param {Frame} real
 * @param {Frame} before The question that hides the verdict.
 * @param {"accepted" | "rejected"} is
 * @returns {Frame}
 */
export function supposedFrame(real, before, is) {
  const { tree, chips, panel } = before;
  const here = tree.here ?? 0;
  const states = supposedStates(tree, here, is);
  const nodes = Object.fromEntries(
    Object.entries(tree.nodes).map(([id, node]) => [id, { ...node, is: states[id] }]),
  );
  const { draw, ...verdict } = /** @type {TossedPanel} */ (real.panel);
  return {
    ...real,
    chips: chips.map((chip) => (chip.node ? { ...chip, is: states[chip.node] } : chip)),
    tree: { ...tree, nodes },
    panel: /** @type {Frame["panel"]} */ ({ ...verdict, table: "table" in panel && panel.table }),
    pass: real.pass && { ...real.pass, columns: supposedColumns(before, here, is) },
  };
}

/** Return the states of the guesses if one of them had this verdict.
 * @param {Tree} tree @param {number} here @param {"accepted" | "rejected"} is */
function supposedStates({ nodes }, here, is) {
  /** @type {Record<string, TokenState>} */
  const states = Object.fromEntries(Object.entries(nodes).map(([id, node]) => [id, node.is]));
  states[here] = is;
  if (is === "accepted") {
    for (let node = nodes[here].parent; node; node = nodes[node].parent) states[node] = is;
  }
  for (const [id, { parent }] of Object.entries(nodes)) {
    const sibling = is === "accepted" && parent === nodes[here].parent;
    const lost = ["rejected", "unreached"].includes(states[parent]);
    if (states[id] === "waiting" && (sibling || lost)) states[id] = "unreached";
  }
  return states;
}

/** @param {Frame} before @param {number} here @param {"accepted" | "rejected"} is */
const supposedColumns = (before, here, is) =>
  before.pass?.columns?.map((column) =>
    column.node === here
      ? { ...column, here: true, use: /** @type {const} */ ("used"), is }
      : { ...column, here: false },
  );

// Return as many decimals as needed to show on which side of the threshold u is.
/** @param {number} u @param {number} threshold */
export function digitsApart(u, threshold) {
  for (let digits = 2; digits < 6; digits += 1) {
    const [at, bar] = [Number(u.toFixed(digits)), Number(threshold.toFixed(digits))];
    if (u < threshold ? at < bar : at > bar || u === threshold) return digits;
  }
  return 6;
}

// Round u to hundredths; if it is closer to the threshold, keep the exact position of the pointer.
/** @param {number} u @param {number} threshold */
export function snapped(u, threshold) {
  const inside = Math.min(Math.max(u, 0), 0.999);
  for (const unit of [100, 1000]) {
    const near = Math.min(Math.round(inside * unit) / unit, 0.999);
    if (near < threshold === inside < threshold) return near;
  }
  return inside;
}

/**
 * Return the supposition about a guess that was not judged: the verdicts that would put it into the
 * text.
 * @param {number} node
 * @param {Tree} tree
 * @returns {Supposition}
 */
function supposeGuess(node, { nodes, ways, chances }) {
  const { w, depth } = nodes[node];
  if (!ways) {
    const only = " is accepted only if it is the target's top token.";
    return { parts: ["At temperature 0 no coin decides: ", { w }, only], coins: null };
  }
  /** @type {Partial<Record<TokenState, number>>} */
  const done = { accepted: 1, rejected: 0 };
  const needed = ways[node].filter(([other, kept]) => done[nodes[other].is] !== kept);
  /** @type {Part[]} */
  const parts = [{ w }, " at +" + depth + " would be in the text if ", ...verdicts(needed, nodes)];
  if (!chances) {
    const later = "After the target's pass you will see whether coins can cause this.";
    return { parts: [...parts, later], coins: null };
  }
  const found = prospect(needed, chances);
  if (found.is === "never") {
    const end = " is accepted with probability " + found.chance + ".";
    parts.push("No coin can cause this: ", { w: nodes[found.node].w }, end);
    return { parts, coins: null };
  }
  const number = reel.rounds[now.at.round].number;
  const coins = Object.fromEntries(
    needed.map((need) => [number + " judge " + need[0], coinFor(need, chances)]),
  );
  if (found.is === "sure") {
    return { parts: [...parts, "Coins can cause this."], coins };
  }
  parts.push("Coins may cause this, but the run does not contain the probability of accepting ", {
    w: nodes[found.node].w,
  });
  return { parts: [...parts, "."], coins, run: "Try it from here" };
}

/**
 * Return verdicts as a clause.
 * @param {Need[]} needed @param {Tree["nodes"]} nodes @returns {Part[]}
 */
function verdicts(needed, nodes) {
  const [kept, rejected] = [1, 0].map((is) =>
    needed.filter((need) => need[1] === is).map(([other]) => ({ w: nodes[other].w })),
  );
  /** @type {Part[]} */
  const first = rejected.length
    ? [...listed(rejected), rejected.length > 1 ? " were" : " was", " rejected and "]
    : [];
  return [...first, ...listed(kept), kept.length > 1 ? " were accepted. " : " was accepted. "];
}

/** @param {Part[]} words */
function listed(words) {
  /** @param {number} index */
  const between = (index) => (index === 0 ? "" : index === words.length - 1 ? " and " : ", ");
  return words.flatMap((each, index) => [between(index), each]);
}

/**
 * Return whether some u can cause these verdicts: surely; maybe (with the first verdict whose
 * probability is not known well enough); or never (with the first verdict that no u changes, and
 * its probability).
 * @param {Need[]} needed
 * @param {Chances} chances
 * @returns {{ is: "sure" } | { is: "may", node: number } | { is: "never", node: number, chance: number }}
 */
export function prospect(needed, chances) {
  let may = 0;
  for (const [node, kept] of needed) {
    const [least, most] = chances[node] || [0, 1];
    if (kept ? most === 0 : least === 1) return { is: "never", node, chance: least };
    if (!may && (kept ? least === 0 : most === 1)) may = node;
  }
  return may ? { is: "may", node: may } : { is: "sure" };
}

// Return the u that causes a verdict; one that rejects is above the probability, even if that is
// near 1.
/** @param {Need} need @param {Chances} chances */
function coinFor([node, kept], chances) {
  const { coins } = stage.config;
  const [, most] = chances[node] || [0, 1];
  return kept ? coins.accept : most < 1 ? Math.max(coins.reject, (1 + most) / 2) : coins.reject;
}
