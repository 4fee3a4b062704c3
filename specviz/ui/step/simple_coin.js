// The coin of the picture: of a verdict, and of the word that replaces a rejected guess. Both can be
// dragged, to ask what another coin would do.

import { flat, percent } from "../shared/dom.js";
import { classes, h, RunningToken } from "../shared/view.js";
import { coinControls, drawControls } from "./coin_bar.js";
import { now } from "./cursor.js";
import { apportioned, percentOf } from "./percents.js";

/** @import { Draw, Share } from "../../frames/draw.py" */
/** @import { TossedPanel } from "../../frames/inspector.py" */

/** @param {TossedPanel} panel */
export function GuessCoin(panel) {
  const { coin, text, whatif, w } = panel;
  const u = now.whatIf?.coin?.u ?? coin.u;
  const kept = percentOf(text.threshold);
  const { track, pin } = whatif ? coinControls(panel, whatif, u) : { track: {}, pin: {} };
  return h(
    "div",
    { class: "sv-toss" },
    h(
      "p",
      { class: "sv-toss-title" },
      "The coin for ",
      h("b", { class: "sv-token" }, RunningToken(w)),
    ),
    h(
      "div",
      { class: classes("sv-toss-bar", whatif && "sv-movable"), ...track },
      h(
        "span",
        { class: "sv-toss-keep", style: { width: percent(coin.threshold) } },
        coin.threshold > 0.4 ? "keep " + kept : "",
      ),
      h("span", { class: "sv-toss-no" }, coin.threshold < 0.75 ? "reject" : ""),
      h("i", { class: "sv-pin sv-toss-pin", style: { left: percent(u) }, ...pin }),
    ),
    h(
      "p",
      { class: "sv-toss-hint" },
      coin.threshold <= 0.4 ? "keep: " + kept + ". " : "",
      "↔ Drag the coin: what if?",
    ),
  );
}

export const HiddenGuessCoin = () =>
  h(
    "div",
    { class: "sv-toss" },
    h("p", { class: "sv-toss-hint" }, "The coin is hidden until you answer."),
  );

const NAMED = 0.13; // the share of the strip that has space for a name

/**
 * The strip from which a word is drawn, with its coin.
 * @param {Draw} draw
 * @param {string} title
 * @param {"r" | "p"} whose
 */
export function DrawCoin({ shares, u = 0 }, title, whose) {
  const at = now.whatIf?.coin?.u ?? u;
  const texts = apportioned(shares.map(({ m }) => ({ value: m })));
  const { track, pin } = drawControls(shares, at);
  return h(
    "div",
    { class: "sv-toss" },
    h("p", { class: "sv-toss-title" }, title),
    h(
      "div",
      { class: "sv-toss-bar sv-toss-strip sv-toss-" + whose + " sv-movable", ...track },
      shares.map((share, index) => Stretch(share, texts[index], isAt(shares, index, at))),
      h("i", { class: "sv-pin sv-toss-pin", style: { left: percent(at) }, ...pin }),
    ),
    h(
      "p",
      { class: "sv-toss-hint" },
      "The coin is on ",
      Hit(shares, at),
      ". ↔ Drag it: another word.",
    ),
  );
}

/** The word under the coin. @param {Share[]} shares @param {number} u */
function Hit(shares, u) {
  const share = shares.find((_, index) => isAt(shares, index, u));
  return h("b", null, share?.w ? RunningToken(share.w) : "one of the others");
}

/** @param {Share[]} shares @param {number} index @param {number} u */
function isAt(shares, index, u) {
  const before = shares.slice(0, index).reduce((sum, { m }) => sum + m, 0);
  return before <= u && u < before + shares[index].m;
}

/** @param {Share} share @param {string} text @param {boolean} hit */
function Stretch(share, text, hit) {
  const name = share.w ? flat(share.w) : "others";
  return h(
    "span",
    {
      class: classes("sv-toss-share", hit && "sv-hit"),
      style: { width: percent(share.m) },
      title: name + " " + text,
    },
    share.m > NAMED ? (share.w ? RunningToken(share.w) : "others") : null,
  );
}
