// The coin of the picture: of a verdict, and of the word that replaces a rejected guess. Both can be
// dragged, to ask what another coin would do.

import { flat, percent } from "../shared/dom";
import { classes, RunningToken } from "../shared/view";
import { coinControls, drawControls } from "./coin_bar";
import { now } from "./cursor";
import { apportioned, percentOf } from "./percents";

import type { Draw, Share } from "../../frames/draw.py";
import type { TossedPanel } from "../../frames/inspector.py";

export function GuessCoin(panel: TossedPanel) {
  const { coin, text, whatif, w } = panel;
  const u = now.whatIf?.coin?.u ?? coin.u;
  const kept = percentOf(text.threshold);
  const { track, pin } = whatif ? coinControls(panel, whatif, u) : { track: {}, pin: {} };
  return (
    <div class="sv-toss">
      <p class="sv-toss-title">
        {"The coin for "}
        <b class="sv-token">{RunningToken(w)}</b>
      </p>
      <div class={classes("sv-toss-bar", whatif && "sv-movable")} {...track}>
        <span class="sv-toss-keep" style={{ width: percent(coin.threshold) }}>
          {coin.threshold > 0.4 ? "keep " + kept : ""}
        </span>
        <span class="sv-toss-no">{coin.threshold < 0.75 ? "reject" : ""}</span>
        <i class="sv-pin sv-toss-pin" style={{ left: percent(u) }} {...pin} />
      </div>
      <p class="sv-toss-hint">
        {coin.threshold <= 0.4 ? "keep: " + kept + ". " : ""}↔ Drag the coin: what if?
      </p>
    </div>
  );
}

export const HiddenGuessCoin = () => (
  <div class="sv-toss">
    <p class="sv-toss-hint">The coin is hidden until you answer.</p>
  </div>
);

const NAMED = 0.13; // the share of the strip that has space for a name

/** The strip from which a word is drawn, with its coin. */
export function DrawCoin({ shares, u = 0 }: Draw, title: string, whose: "r" | "p") {
  const at = now.whatIf?.coin?.u ?? u;
  const texts = apportioned(shares.map(({ m }) => ({ value: m })));
  const { track, pin } = drawControls(shares, at);
  return (
    <div class="sv-toss">
      <p class="sv-toss-title">{title}</p>
      <div class={"sv-toss-bar sv-toss-strip sv-toss-" + whose + " sv-movable"} {...track}>
        {shares.map((share, index) => Stretch(share, texts[index], isAt(shares, index, at)))}
        <i class="sv-pin sv-toss-pin" style={{ left: percent(at) }} {...pin} />
      </div>
      <p class="sv-toss-hint">
        {"The coin is on "}
        {Hit(shares, at)}. ↔ Drag it: another word.
      </p>
    </div>
  );
}

/** The word under the coin. */
function Hit(shares: Share[], u: number) {
  const share = shares.find((_, index) => isAt(shares, index, u));
  return <b>{share?.w ? RunningToken(share.w) : "one of the others"}</b>;
}

function isAt(shares: Share[], index: number, u: number) {
  const before = shares.slice(0, index).reduce((sum, { m }) => sum + m, 0);
  return before <= u && u < before + shares[index].m;
}

function Stretch(share: Share, text: string, hit: boolean) {
  const name = share.w ? flat(share.w) : "others";
  return (
    <span
      class={classes("sv-toss-share", hit && "sv-hit")}
      style={{ width: percent(share.m) }}
      title={name + " " + text}
    >
      {share.m > NAMED ? (share.w ? RunningToken(share.w) : "others") : null}
    </span>
  );
}
