// "What if": another u (coin), or another guess. The immediate effect is known; everything after it
// needs a new run with this u, see branch.ts.

import { flat } from "../shared/dom";
import { branch } from "./branch";
import { AnswerButton, SentencePart } from "./caption";
import { frameAt, go, player, stepName, suppose } from "./state";
import { isSimple } from "./mode";
import { pause } from "./playback";
import { stage } from "./stage";

import type { TokenState, Word } from "../../frames/scene.py";
import type { DrawnTree as Tree } from "../../figures/tree.py";
import type { DrawnFrame as Frame } from "../../figures/frame.py";
import type { TossedPanel } from "../../frames/inspector.py";
import type { Need } from "../../frames/leaf_first.py";
import type { Share } from "../../frames/draw.py";
import type { TableRow } from "../../frames/table.py";
import type { WhatIf } from "../../frames/whatif.py";
import type { Part } from "../../texts/__init__.py";
import type { MovedBars } from "./simple_drag";
/** By name: "3 judge 2" is that of node 2 in round 3. */
export type Coins = Record<string, number>;
export type Chances = NonNullable<Tree["chances"]>;
/** What is shown instead of what happened: another u, or another guess. */
export interface Supposition {
  parts: Part[];
  /** The coins that "Run it from here" sets; null if none can cause it. */
  coins: Coins | null;
  /** Another label of that button, for coins that only may cause it. */
  run?: string;
  /** Where the coin on screen was moved to. */
  coin?: { u: number; text: string };
  /** The probabilities that the bars were dragged to. */
  bars?: MovedBars;
  /** The guess's other verdict, if it would change. */
  is?: "accepted" | "rejected";
  /** The word that would be drawn; null if it is one of those that are not shown. */
  drawn?: Word | null;
}

// A click on a judged guess leads to its verdict; on any other, it asks which u would lead to it.
// The root, which is already in the text, does neither.
export function pickNode(node: number) {
  if (node === 0) return undefined;
  const judged = node < 0 ? "draw" : "judge-" + node;
  for (let step = 0; step <= player.at.step; step += 1) {
    if (stepName(player.at.round, step).id === judged) return go(player.at.round, step);
  }
  const kept = keptWith(node);
  if (kept !== null) return go(player.at.round, kept);
  if (node < 0 || player.question) return undefined;
  pause();
  return suppose(supposeGuess(node, frameAt(player.at.round, player.at.step).tree));
}

// Return the step whose verdict accepted a guess together with a later one; null for any other
// guess.
function keptWith(node: number) {
  if (frameAt(player.at.round, player.at.step).tree.nodes[node]?.is !== "accepted") return null;
  for (let step = player.at.step; step >= 0; step -= 1) {
    if (stepName(player.at.round, step).is === "accepted") return step;
  }
  return null;
}

/** The sentence on the effect, the button that runs it if possible, and the way back. */
export function WhatIfSentence({ parts, coins, run }: Supposition) {
  return [
    ...parts.map(SentencePart),
    " ",
    <span class="sv-answers">
      {coins && stage.config.served ? AnswerButton(run ?? "Run it from here", branch) : null}
      {AnswerButton("Back", () => go(player.at.round, player.at.step))}
    </span>,
  ];
}

/** Move u of the verdict on screen. */
export function moveCoin(to: number, panel: TossedPanel, whatif: WhatIf) {
  suppose(supposeCoin(snapped(to, panel.coin.threshold), panel, whatif));
}

/** Move u of the draw on screen: another word would be drawn from the same shares. */
export function moveDraw(to: number, shares: Share[]) {
  const u = Math.round(Math.min(Math.max(to, 0), 0.999) * 1000) / 1000;
  const text = u.toFixed(3);
  let at = 0;
  const hit = shares.find(({ m }) => {
    at += m;
    return u < at;
  });
  const token: Part = hit?.w ? { w: hit.w } : "one of the other words";
  const parts: Part[] = ["With the coin there, the draw would give ", token, "."];
  suppose({ parts, coins: null, coin: { u, text }, drawn: hit?.w ?? null });
}

const NOT_SHOWN: Word = ["…"];
const DRAWN: TokenState[] = ["recovered", "bonus", "plain"];

/** Return the frame of a draw with another word: in the text, in the table and on the strip. */
export function otherDraw(frame: Frame, drawn: Word | null): Frame {
  const is = (each: { w?: Word }) => drawn && each.w && flat(each.w) === flat(drawn);
  // A word without a row is among the others.
  const among = <Row extends { w?: Word }>(all: Row[]) => all.find(is) ?? all.find(({ w }) => !w);
  const panel = { ...frame.panel } as TossedPanel;
  if (panel.draw) {
    const { shares } = panel.draw;
    const hit = among(shares);
    const marked = shares.map((share) => ({ ...share, hit: share === hit || undefined }));
    panel.draw = { ...panel.draw, shares: marked as Share[] };
  }
  if (panel.table) {
    const hit = among(panel.table.rows as (TableRow & { w?: Word })[]);
    const rows = panel.table.rows.map((row) => {
      const real = row.is === "drawn" ? undefined : row.is;
      return { ...row, is: row === hit ? ("drawn" as const) : real };
    });
    panel.table = { ...panel.table, rows };
  }
  const chips = frame.chips.map((chip) =>
    DRAWN.includes(chip.is) ? { ...chip, w: drawn ?? NOT_SHOWN } : chip,
  );
  return { ...frame, panel, chips };
}

/** Return the supposition of another u at a verdict: only the side of the threshold is certain. */
function supposeCoin(
  u: number,
  { accepted, coin: { threshold }, w }: TossedPanel,
  whatif: WhatIf,
): Supposition {
  const kept = u < threshold;
  const digits = digitsApart(u, threshold);
  const text = u.toFixed(digits);
  const coin = { u, text };
  const parts: Part[] = ["With the coin set to ", { n: text, as: "u" }];
  if (whatif.stuck) {
    const still = " would still be " + (accepted ? "accepted. " : "rejected. ");
    return { parts: [...parts, ", ", { w }, still, ...whatif.stuck], coins: null, coin };
  }
  const bar = threshold === 1 ? "1" : threshold.toFixed(digits);
  parts.push(kept ? ", below " : ", not below ", { n: bar, as: "both" }, ", ", { w });
  parts.push(kept === accepted ? " would still be " : " would be ");
  parts.push(kept ? "accepted. " : "rejected. ", ...whatif[kept ? "kept" : "rejected"]);
  const is = kept ? "accepted" : "rejected";
  return {
    parts: isSimple() ? everydayCoin(w, kept, kept === accepted) : parts,
    coins: { [whatif.coin]: u },
    coin,
    is: kept === accepted ? undefined : is,
  };
}

const everydayCoin = (w: Word, kept: boolean, still: boolean): Part[] => [
  "With the coin there, ",
  { w },
  still ? " would still be " : " would be ",
  kept ? "kept." : "rejected.",
];

/**
 * Return a verdict's frame with the other verdict: in the tree, the text and the pass, the guess has
 * that verdict, and nothing is shown of what followed the real one.
 * @param before The question that hides the verdict.
 */
export function supposedFrame(real: Frame, before: Frame, is: "accepted" | "rejected"): Frame {
  const { tree, chips, panel } = before;
  const here = tree.here ?? 0;
  const states = supposedStates(tree, here, is);
  const nodes = Object.fromEntries(
    Object.entries(tree.nodes).map(([id, node]) => [id, { ...node, is: states[id] }]),
  );
  const { draw, ...verdict } = real.panel as TossedPanel;
  return {
    ...real,
    chips: chips.map((chip) => (chip.node ? { ...chip, is: states[chip.node] } : chip)),
    tree: { ...tree, nodes },
    panel: { ...verdict, table: "table" in panel && panel.table } as Frame["panel"],
    pass: real.pass && { ...real.pass, columns: supposedColumns(before, here, is) },
  };
}

/** Return the states of the guesses if one of them had this verdict. */
function supposedStates({ nodes }: Tree, here: number, is: "accepted" | "rejected") {
  const states: Record<string, TokenState> = Object.fromEntries(
    Object.entries(nodes).map(([id, node]) => [id, node.is]),
  );
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

const supposedColumns = (before: Frame, here: number, is: "accepted" | "rejected") =>
  before.pass?.columns?.map((column) =>
    column.node === here
      ? { ...column, here: true, use: "used" as const, is }
      : { ...column, here: false },
  );

// Return as many decimals as needed to show on which side of the threshold u is.
export function digitsApart(u: number, threshold: number) {
  for (let digits = 2; digits < 6; digits += 1) {
    const [at, bar] = [Number(u.toFixed(digits)), Number(threshold.toFixed(digits))];
    if (u < threshold ? at < bar : at > bar || u === threshold) return digits;
  }
  return 6;
}

// Round u to hundredths; if it is closer to the threshold, keep the exact position of the pointer.
export function snapped(u: number, threshold: number) {
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
 */
function supposeGuess(node: number, { nodes, ways, chances }: Tree): Supposition {
  const { w, depth } = nodes[node];
  if (!ways) {
    const only = " is accepted only if it is the target's top token.";
    return { parts: ["At temperature 0 no coin decides: ", { w }, only], coins: null };
  }
  const done: Partial<Record<TokenState, number>> = { accepted: 1, rejected: 0 };
  const needed = ways[node].filter(([other, kept]) => done[nodes[other].is] !== kept);
  const parts: Part[] = [
    { w },
    " at +" + depth + " would be in the text if ",
    ...verdicts(needed, nodes),
  ];
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
  const number = player.rounds[player.at.round].number;
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

/** Return verdicts as a clause. */
function verdicts(needed: Need[], nodes: Tree["nodes"]): Part[] {
  const [kept, rejected] = [1, 0].map((is) =>
    needed.filter((need) => need[1] === is).map(([other]) => ({ w: nodes[other].w })),
  );
  const first: Part[] = rejected.length
    ? [...listed(rejected), rejected.length > 1 ? " were" : " was", " rejected and "]
    : [];
  return [...first, ...listed(kept), kept.length > 1 ? " were accepted. " : " was accepted. "];
}

function listed(words: Part[]) {
  const between = (index: number) =>
    index === 0 ? "" : index === words.length - 1 ? " and " : ", ";
  return words.flatMap((each, index) => [between(index), each]);
}

/**
 * Return whether some u can cause these verdicts: surely; maybe (with the first verdict whose
 * probability is not known well enough); or never (with the first verdict that no u changes, and
 * its probability).
 */
export function prospect(
  needed: Need[],
  chances: Chances,
): { is: "sure" } | { is: "may"; node: number } | { is: "never"; node: number; chance: number } {
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
function coinFor([node, kept]: Need, chances: Chances) {
  const { coins } = stage.config;
  const [, most] = chances[node] || [0, 1];
  return kept ? coins.accept : most < 1 ? Math.max(coins.reject, (1 + most) / 2) : coins.reject;
}
