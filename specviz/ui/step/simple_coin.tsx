// The coin of the picture: of a verdict, and of the word that replaces a rejected guess. Both can be
// dragged, to ask what another coin would do.

import { flat, percent } from "../shared/dom";
import { classes, RunningToken } from "../shared/view";
import { coinControls, drawControls, widest } from "./coin_bar";
import { player } from "./state";
import { percentOf, percentText } from "./percents";

import type { ComponentChild } from "preact";
import type { Stretch } from "./coin_bar";
import type { Draw, Share } from "../../frames/draw.py";
import type { TossedPanel } from "../../frames/inspector.py";
import type { Word } from "../../frames/scene.py";
import type { LabelledRow } from "./simple_rows";

// Shares of the bar that the handle and the two labels need.
const HANDLE = 0.045;
const KEEP = 0.28;
const REJECT = 0.2;

/** @param supposed The acceptance probability after a bar was dragged. */
export function GuessCoin(panel: TossedPanel, supposed?: number) {
  const { text, whatif, w } = panel;
  const coin = supposed === undefined ? panel.coin : { ...panel.coin, threshold: supposed };
  const u = player.whatIf?.coin?.u ?? coin.u;
  const kept =
    "keep " + (supposed === undefined ? percentOf(text.threshold) : percentText(supposed));
  const { track, pin } = whatif ? coinControls(panel, whatif, u) : { track: {}, pin: {} };
  const [left, right] = [
    widest([0, coin.threshold], u, HANDLE),
    widest([coin.threshold, 1], u, HANDLE),
  ];
  const named = left[1] - left[0] >= KEEP;
  return (
    <div class="sv-toss">
      <p class="sv-toss-title">
        {"The coin for "}
        <b class="sv-token">{RunningToken(w)}</b>
      </p>
      <div class={classes("sv-toss-bar", whatif && "sv-movable")} {...track}>
        <span class="sv-toss-keep" style={{ width: percent(coin.threshold) }} />
        {coin.threshold < 1 ? <span class="sv-toss-no" /> : null}
        {named ? Name("keep", kept, left) : null}
        {right[1] - right[0] >= REJECT ? Name("reject", "reject", right) : null}
        <i class="sv-pin sv-toss-pin" style={{ left: percent(u) }} {...pin} />
      </div>
      <p class="sv-toss-hint">{(named ? "" : kept + ". ") + hint(coin.threshold, u)}</p>
    </div>
  );
}

function hint(threshold: number, u: number) {
  if (threshold >= 1) return "Any coin keeps it.";
  return `↔ Drag: what if it said ${u < threshold ? "no" : "yes"}?`;
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

export const HiddenGuessCoin = () => (
  <div class="sv-toss">
    <p class="sv-toss-hint">The coin is hidden until you answer.</p>
  </div>
);

const NAMED = 0.22; // the share of the strip that has space for a name

/**
 * The strip from which a word is drawn, with its coin. It is the bars' words side by side, with their
 * percentages; what has no bar is "others".
 */
export function DrawCoin(
  { shares: all, u = 0 }: Draw,
  title: string,
  whose: "r" | "p",
  rows: LabelledRow[],
) {
  const at = player.whatIf?.coin?.u ?? u;
  const word = all[hitOf(all, at)]?.w;
  const texts = new Map(
    rows.map(({ w, pText, missText }) => [w ? flat(w) : "", whose === "p" ? pText : missText]),
  );
  const shares = joined(all, (w) => texts.has(flat(w)));
  const stretches = stretchesOf(shares);
  const hit = hitOf(shares, at);
  const { track, pin } = drawControls(all, at);
  return (
    <div class="sv-toss">
      <p class="sv-toss-title">{title}</p>
      <div class={"sv-toss-bar sv-toss-strip sv-toss-" + whose + " sv-movable"} {...track}>
        {shares.map(({ m, w }, index) => (
          <span
            key={index}
            class={classes("sv-toss-share", index === hit && "sv-hit")}
            style={{ width: percent(m) }}
            title={w ? flat(w) + " " + texts.get(flat(w)) : "others"}
          />
        ))}
        {shares.map(({ w }, index) => {
          const free = widest(stretches[index], at, HANDLE);
          if (free[1] - free[0] < NAMED) return null;
          const kind = index === hit ? "hit" : "share";
          const name = w ? [RunningToken(w), "\u00a0" + texts.get(flat(w))] : "others";
          return <span key={index}>{Name(kind, name, free)}</span>;
        })}
        <i class="sv-pin sv-toss-pin" style={{ left: percent(at) }} {...pin} />
      </div>
      <p class="sv-toss-hint">
        {"It is on "}
        <b>{word ? RunningToken(word) : "one of the others"}</b>
        {". ↔ Drag it: another word."}
      </p>
    </div>
  );
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
