// The coin: of a verdict, and of the word that is drawn. Both can be dragged, or moved by keys, to
// ask what another coin would do. Details has the exact numbers and the field's words.

import { flat, percent } from "../shared/dom";
import { classes, RunningToken, termAttributes, Token } from "../shared/view";
import { branch } from "./branch";
import { linkAttributes } from "./hover_links";
import { percentOf, percentText } from "./percents";
import { pause } from "./playback";
import { widthOf } from "./room";
import { go, player } from "./state";
import { moveCoin, moveDraw, WhatIfSentence } from "./what_if";

import type { ComponentChild } from "preact";
import type { Draw, Share } from "../../frames/draw.py";
import type { TossedPanel } from "../../frames/inspector.py";
import type { Word } from "../../frames/scene.py";
import type { LabelledRow } from "./simple_rows";

/** A part of the bar; the whole bar is from 0 to 1. */
type Stretch = [from: number, to: number];

// Shares of the bar that the handle and the two labels need.
const HANDLE = 0.045;
const KEEP = 0.28;
const REJECT = 0.16;
const SHORT = 0.14; // of the names in Details

/** @param supposed The acceptance probability after a bar was dragged. */
export function GuessCoin(panel: TossedPanel, supposed?: number) {
  const { coin, text, w } = panel;
  const threshold = supposed ?? coin.threshold;
  const kept =
    "keep " + (supposed === undefined ? percentOf(text.threshold) : percentText(supposed));
  const title = ["The coin for ", <b class="sv-token">{RunningToken(w)}</b>];
  return Toss(panel, threshold, title, kept, [KEEP, REJECT], (named, u) => (
    <p class="sv-toss-hint">{(named ? "" : kept + ". ") + hint(threshold, u)}</p>
  ));
}

/** The coin with its number and the computation of what it is compared with. */
export function ExactCoin(panel: TossedPanel) {
  const title = ["coin u", panel.whatif ? <span class="sv-hint-drag">↔ what if?</span> : null];
  const under = (_: boolean, u: number) => Comparison(panel, u);
  return Toss(panel, panel.coin.threshold, title, "accept", [SHORT, SHORT], under);
}

/**
 * @param least The shares of the bar that the names of both sides need.
 * @param under What is below the bar; it is told whether the left side has its name, and the coin.
 */
function Toss(
  panel: TossedPanel,
  threshold: number,
  title: ComponentChild,
  kept: string,
  least: [number, number],
  under: (named: boolean, u: number) => ComponentChild,
) {
  const { coin, whatif } = panel;
  const moved = player.whatIf?.coin;
  const u = moved?.u ?? coin.u;
  const move = (to: number) => whatif && moveCoin(to, panel, whatif);
  const label = "Coin: arrow keys move it, Enter runs from here, Escape goes back";
  const pin = whatif && sliderAttributes(move, u, moved?.text ?? String(u), label);
  const [left, right] = [widest([0, threshold], u), widest([threshold, 1], u)];
  const [named, other] = [left, right].map(([from, to], at) => to - from >= least[at]);
  return (
    <div class="sv-toss">
      <p class="sv-toss-title">{title}</p>
      <div
        class={classes("sv-toss-bar", whatif && "sv-movable")}
        {...(whatif ? dragging(move) : {})}
      >
        <span
          class="sv-toss-keep"
          style={{ width: percent(threshold) }}
          {...linkAttributes("both")}
        />
        {threshold < 1 ? <span class="sv-toss-no" /> : null}
        {named ? Name("keep", kept, left) : null}
        {other ? Name("reject", "reject", right) : null}
        {moved ? <i class="sv-pin sv-pin-was" style={{ left: percent(coin.u) }} /> : null}
        <i class="sv-pin" style={{ left: percent(u) }} {...linkAttributes("u")} {...pin} />
      </div>
      {under(named, u)}
    </div>
  );
}

function hint(threshold: number, u: number) {
  if (threshold >= 1) return "Any coin keeps it.";
  return `↔ Drag: what if it said ${u < threshold ? "no" : "yes"}?`;
}

/** The coin beside the probability of acceptance, and how that is computed. */
function Comparison({ p, q, coin, labels, text }: TossedPanel, u: number) {
  const [one, other] = ["p", "q"].map((name) => name + (labels.left.includes(name) ? "′" : ""));
  const ratio = text.p + " ÷ " + text.q + " = " + text.threshold;
  const certain = text.threshold + ", since " + one + " ≥ " + other;
  const chance = text.sum ?? (q === undefined ? text.threshold : p >= q ? certain : ratio);
  return [
    <p class="sv-toss-hint sv-toss-numbers">
      <b {...termAttributes("coin")}>{"u = " + (player.whatIf?.coin?.text ?? text.u)}</b>
      {u < coin.threshold ? " < " : " ≥ "}
      <span class="sv-ink-both" {...termAttributes("threshold")}>
        {chance}
      </span>
    </p>,
    // On a narrow page, the caption is out of view while the coin is moved, so it is repeated here.
    <p class="sv-echo" role="status">
      {player.whatIf ? WhatIfSentence(player.whatIf) : null}
    </p>,
  ];
}

/** Return the wider part of a stretch that the handle divides. */
function widest([from, to]: Stretch, u: number): Stretch {
  if (u <= from - HANDLE || u >= to + HANDLE) return [from, to];
  return u - HANDLE - from > to - u - HANDLE ? [from, u - HANDLE] : [u + HANDLE, to];
}

/** A name on the wider part of its stretch, beside the handle. */
const Name = (kind: string, text: ComponentChild, [from, to]: Stretch) => (
  <span
    key={kind}
    class={"sv-toss-name sv-toss-name-" + kind}
    style={{ left: percent(from), width: percent(to - from) }}
  >
    {text}
  </span>
);

export const HiddenGuessCoin = (exact = false) => (
  <div class="sv-toss">
    {exact ? <p class="sv-toss-title">coin u</p> : null}
    <p class="sv-toss-hint">
      {exact ? "hidden until you answer" : "The coin is hidden until you answer."}
    </p>
  </div>
);

/** @param move Called with the position of the pointer on the bar. */
function dragging(move: (u: number) => void) {
  const follow = ({ clientX, currentTarget }: PointerEvent & { currentTarget: HTMLElement }) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    move((clientX - left) / width);
  };
  return {
    title: "Drag the coin: what if it had another value?",
    onPointerDown(event: PointerEvent & { currentTarget: HTMLElement }) {
      event.preventDefault(); // otherwise arrow keys would move the coin instead of stepping
      pause();
      event.currentTarget.setPointerCapture(event.pointerId);
      follow(event);
    },
    onPointerMove(event: PointerEvent & { currentTarget: HTMLElement }) {
      if (event.currentTarget.hasPointerCapture(event.pointerId)) follow(event);
    },
  };
}

const STRIDES: Partial<Record<string, number>> = {
  ArrowLeft: -0.01,
  ArrowDown: -0.01,
  ArrowRight: 0.01,
  ArrowUp: 0.01,
  PageDown: -0.1,
  PageUp: 0.1,
  Home: -1,
  End: 1,
};

/** Attributes that let keys move the coin: arrows move it, Enter runs it, Escape restores it. */
const sliderAttributes = (move: (u: number) => void, u: number, spoken: string, label: string) => ({
  role: "slider" as const,
  tabindex: 0,
  "aria-valuemin": 0,
  "aria-valuemax": 1,
  "aria-valuenow": spoken as unknown as number,
  "aria-label": label,
  onKeyDown(event: KeyboardEvent) {
    const by = STRIDES[event.key];
    if (event.key === "Enter" && player.whatIf?.coins) branch();
    else if (event.key === "Escape") go(player.at.round, player.at.step);
    else if (by) move(u + by);
    else return;
    event.preventDefault();
    event.stopPropagation();
  },
});

const NAMED = 0.22; // the share of the strip that has space for a name with its percentage

/** Return whether the name of a share fits on the strip of Details. */
function fits({ w, m }: Share) {
  return m * (widthOf("panel") - 85) > (w ? flat(w).length : 6) * 7.6 + 6;
}

/**
 * The strip from which a word is drawn, with its coin.
 * @param rows In Simple: the bars above. The strip has these words side by side, with their
 * percentages; what has no bar is "others".
 * @param note In Details: what the numbers say. Before the draw, there is no coin.
 */
export function DrawCoin(
  draw: Draw,
  title: ComponentChild,
  whose: "r" | "p",
  note: ComponentChild,
  rows?: LabelledRow[],
) {
  const at = (rows && player.whatIf?.coin?.u) ?? draw.u ?? -1;
  const texts = new Map(
    rows?.map(({ w, pText, missText }) => [w ? flat(w) : "", whose === "p" ? pText : missText]),
  );
  const shares = rows ? joined(draw.shares, (w) => texts.has(flat(w))) : draw.shares;
  const move = (to: number) => moveDraw(to, draw.shares);
  const label = "Coin of the draw: arrow keys move it, Escape goes back";
  const pin = rows
    ? sliderAttributes(move, at, String(at), label)
    : { ...linkAttributes("u"), ...termAttributes("new coin") };
  const kind = classes("sv-toss-bar sv-toss-strip sv-toss-" + whose, rows && "sv-movable");
  return (
    <div class="sv-toss">
      <p class="sv-toss-title">{title}</p>
      <div class={kind} {...(rows ? dragging(move) : {})}>
        {Shares(shares, at, rows ? texts : null)}
        {at < 0 ? null : <i class="sv-pin" style={{ left: percent(at) }} {...pin} />}
      </div>
      <p class="sv-toss-hint">{rows ? DrawHint(draw.shares, at) : note}</p>
    </div>
  );
}

/** @param texts The percentages of words; null for exact numbers. */
function Shares(shares: Share[], at: number, texts: Map<string, string> | null) {
  const hit = hitOf(shares, at);
  const stretches = stretchesOf(shares);
  const titleOf = ({ w, m }: Share) => {
    if (!texts) return (w ? flat(w) : "others") + " " + m.toFixed(4);
    return w ? flat(w) + " " + texts.get(flat(w)) : "others";
  };
  const names = shares.map((share, index) => {
    const { w } = share;
    const free = widest(stretches[index], at);
    const wide = free[1] - free[0];
    if (texts ? wide < NAMED : !fits({ ...share, m: wide })) return null;
    const kind = index === hit ? "hit" : "share";
    const name = w && (texts ? [RunningToken(w), "\u00a0" + texts.get(flat(w))] : Token(w));
    return <span key={index}>{Name(kind, name ?? "others", free)}</span>;
  });
  return [
    shares.map((share, index) => (
      <span
        key={index}
        class={classes("sv-toss-share", index === hit && "sv-hit")}
        style={{ width: percent(share.m) }}
        title={titleOf(share)}
      />
    )),
    names,
  ];
}

function DrawHint(shares: Share[], at: number) {
  const word = shares[hitOf(shares, at)]?.w;
  const name = <b>{word ? RunningToken(word) : "one of the others"}</b>;
  return ["It is on ", name, ". ↔ Drag it: another word."];
}

const hitOf = (shares: Share[], u: number) =>
  stretchesOf(shares).findIndex(([from, to]) => from <= u && u < to);

/** Join neighbouring shares of words without a bar; the order stays, since the coin depends on it. */
function joined(shares: Share[], hasBar: (w: Word) => boolean) {
  const found: Share[] = [];
  for (const share of shares) {
    const last = found.at(-1);
    if (share.w && hasBar(share.w)) found.push(share);
    else if (last && !last.w) found[found.length - 1] = { rest: true, m: last.m + share.m };
    else found.push({ rest: true, m: share.m });
  }
  return found;
}

/** Return from where to where each share reaches on the strip. */
function stretchesOf(shares: Share[]) {
  let at = 0;
  return shares.map(({ m }): Stretch => {
    at += m;
    return [at - m, at];
  });
}
