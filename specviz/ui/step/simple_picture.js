// The one picture of a step in the Simple mode.

import { flat } from "../shared/dom.js";
import { classes, h, render, RunningToken } from "../shared/view.js";
import { momentKey } from "./cursor.js";
import { Swatch } from "./legend.js";
import { reel } from "./reel.js";
import { widthOf } from "./room.js";
import { Bars } from "./simple_bars.js";
import { DrawCoin, GuessCoin, HiddenGuessCoin } from "./simple_coin.js";
import { shareRows, tableRows } from "./simple_rows.js";
import { duration, medianPass } from "./simple_times.js";
import { $ } from "./stage.js";

/** @import { ComponentChild } from "preact" */
/** @import { DrawnFrame as Frame } from "../../figures/charts.py" */
/** @import { TrialPanel } from "../../frames/inspector.py" */
/** @import { Table } from "../../frames/table.py" */

/** @param {Frame} frame @param {number} round */
export function showPicture(frame, round) {
  render(
    h(
      "div",
      { key: momentKey(), class: "sv-picture-in sv-picture-" + frame.step.kind },
      Picture(frame, round),
    ),
    $(".sv-picture"),
  );
}

/** @param {Frame} frame @param {number} round @returns {ComponentChild} */
function Picture(frame, round) {
  const { kind } = frame.step;
  if (kind === "propose") return Guesses(frame, false);
  if (kind === "score") return [Pass(frame, round), Mask(frame)];
  if (kind === "judge") return Verdict(frame);
  if (kind === "draw") return Replacement(frame);
  return null;
}

// As many words as fit; the others are summed.
const most = () => (widthOf("player") < 560 ? 5 : widthOf("player") < 900 ? 6 : 7);

/** @param {Frame} frame */
function Verdict({ panel }) {
  if (panel.kind !== "trial") return null;
  const { table } = panel;
  if (!table) return Coin(panel);
  const greedy = !("coin" in panel) && !("asked" in panel);
  const texts =
    greedy || !("text" in panel) ? {} : /** @type {Record<string, string>} */ (panel.text);
  const sampled = panel.q !== undefined;
  const rows = tableRows(table, { p: texts.p, q: texts.q }, most(), sampled);
  if (greedy) return [Figure(Bars(rows, "p"), Keys(["outline"])), null];
  return [Figure(Bars(rows, "parts"), Keys(partKeys(table, sampled))), Coin(panel)];
}

/** @param {TrialPanel} panel */
const Coin = (panel) => {
  if (panel.asked) return HiddenGuessCoin();
  return panel.coin ? GuessCoin(panel) : null;
};

/** @param {Table} table @param {boolean} sampled */
function partKeys(table, sampled) {
  const rejected = table.full;
  return [
    "outline",
    "both",
    ...(rejected ? ["miss"] : []),
    ...(sampled && rejected ? ["over"] : []),
  ];
}

/** @param {Frame} frame */
function Replacement({ panel, caption, pass }) {
  const draw = "draw" in panel ? panel.draw : undefined;
  if (panel.kind !== "trial" || !panel.table) {
    if (!draw) return FirstChoices(pass);
    const rows = shareRows(draw.shares, most());
    return [
      Figure(Bars(rows, "p"), Keys(["outline"])),
      DrawCoin(draw, "A coin draws the word", "p"),
    ];
  }
  const rows = tableRows(panel.table, {}, most(), panel.q !== undefined);
  if (!draw) return [Figure(Bars(rows, "p"), Keys(["outline"])), null];
  const mass = caption.simple?.find((part) => typeof part !== "string" && part.as === "residual");
  return [
    Figure(Bars(rows, "missing"), Keys(["outline", "both", "scaled"])),
    h(
      "div",
      null,
      typeof mass === "object" && mass.n ? Balance(mass.n) : null,
      DrawCoin(draw, "A new coin draws one of them", "r"),
    ),
  ];
}

/** At temperature 0 nothing is drawn: the first choice has all the probability. @param {Frame["pass"]} pass */
function FirstChoices(pass) {
  const used = pass?.columns?.filter(({ use, node }) => use === "used" && !node);
  const top = used?.at(-1)?.top ?? [];
  if (!top.length) return null;
  const shares = top.map(([w, m]) => ({ w, m }));
  return Figure(Bars(shareRows(shares, most()), "p"), Keys(["first"]));
}

/** What is discarded and what is missing, which are equal. @param {string} mass */
const Balance = (mass) =>
  h(
    "p",
    { class: "sv-balance" },
    h("span", null, h("i", { class: "sv-sw sv-sw-over" }), "discarded ", h("b", null, mass)),
    " = ",
    h("span", null, Swatch("r"), "missing ", h("b", null, mass)),
  );

/** @param {ComponentChild} bars @param {ComponentChild} keys */
const Figure = (bars, keys) => h("div", { class: "sv-picture-main" }, bars, keys);

/** @type {Record<string, [sign: ComponentChild, text: string]>} */
const KEYS = {
  outline: [h("i", { class: "sv-sw sv-sw-outline" }), "how often the big model says it"],
  first: [h("i", { class: "sv-sw sv-sw-outline" }), "the big model’s first choice"],
  both: [Swatch("b"), "kept as a guess"],
  miss: [Swatch("r"), "still missing"],
  over: [h("i", { class: "sv-sw sv-sw-over" }), "guessed too often"],
  scaled: [Swatch("r"), "missing, scaled to 100 %"],
};

/** @param {string[]} names */
const Keys = (names) =>
  h(
    "p",
    { class: "sv-picture-keys" },
    names.map((name) => h("span", { key: name }, KEYS[name])),
  );

/** The guessed words, by position. @param {Frame} frame @param {boolean} riding */
function Guesses({ tree, caption }, riding) {
  const nodes = Object.entries(tree.nodes);
  if (!nodes.length)
    return h("p", { class: "sv-picture-none" }, caption.is === "propose" ? "no guess" : "");
  const deepest = Math.max(...nodes.map(([, { depth }]) => depth));
  const columns = Array.from({ length: deepest }, (_, at) =>
    nodes.filter(([, { depth }]) => depth === at + 1),
  );
  // The pass also reads the last word of the text, whose next word it predicts.
  const root = riding
    ? h(
        "li",
        { key: "root" },
        h("span", { class: "sv-ahead-word sv-ahead-root" }, RunningToken(tree.root)),
      )
    : null;
  return h(
    "ol",
    { class: classes("sv-ahead-words", riding && "sv-riding") },
    root,
    columns.map((column, at) =>
      h(
        "li",
        { key: at },
        column
          .slice(0, TALLEST)
          .map(([id, { w, q }]) =>
            h(
              "span",
              { key: id, class: "sv-ahead-word" },
              RunningToken(w),
              q === undefined || riding ? null : h("small", null, wholePercent(q)),
            ),
          ),
        column.length > TALLEST ? h("small", null, "+" + (column.length - TALLEST)) : null,
      ),
    ),
  );
}

const TALLEST = 4; // guesses that are shown of one position

/** @param {number} q */
const wholePercent = (q) => (q > 0 && q < 0.005 ? "< 1 %" : Math.round(100 * q) + " %");

/**
 * One pass: the weights are read once, and all positions ride along; and the two times of this run.
 * @param {Frame} frame @param {number} round
 */
function Pass(frame, round) {
  const guesses = Object.keys(frame.tree.nodes).length;
  const [, seconds] = reel.rounds[round].seconds;
  const plain = medianPass();
  const longest = Math.max(seconds, plain ?? 0);
  return h(
    "div",
    { class: "sv-picture-main" },
    h(
      "div",
      { class: "sv-weights" },
      h(
        "div",
        { class: "sv-weights-box" },
        h("i", null),
        h("span", null, "the big model’s weights, read once"),
      ),
      Guesses(frame, true),
    ),
    h(
      "div",
      { class: "sv-two-times" },
      TimeBar(guesses + 1, seconds, longest),
      plain === null ? null : TimeBar(1, plain, longest),
    ),
  );
}

/** @param {number} positions @param {number} seconds @param {number} longest */
const TimeBar = (positions, seconds, longest) =>
  h(
    "p",
    null,
    h("span", null, positions === 1 ? "1 position" : positions + " positions"),
    h("i", { style: { width: ((60 * seconds) / longest).toFixed(2) + "%" } }),
    h("b", null, duration(seconds)),
  );

const WIDEST = 7; // words of the mask

/**
 * Why one pass gives the same p as one pass per word: no position sees a later one.
 * @param {Frame} frame
 */
function Mask({ tree }) {
  const nodes = Object.values(tree.nodes);
  const chain = nodes.length > 0 && nodes.every(({ depth }, at) => depth === at + 1);
  if (!chain || nodes.length > WIDEST) return null;
  const words = [tree.root, ...nodes.map(({ w }) => w)];
  return h(
    "div",
    { class: "sv-mask" },
    h(
      "p",
      null,
      "Each word sees only the words before it, so one pass gives the same as ",
      words.length,
      " passes:",
    ),
    h(
      "div",
      {
        class: "sv-mask-grid",
        role: "img",
        "aria-label": "Attention mask: each word sees itself and the words before it",
      },
      words.map((word, row) =>
        h(
          "div",
          { key: row, "aria-hidden": "true" },
          h("span", { class: "sv-mask-word" }, flat(word).replaceAll("␣", "")),
          words.map((_, column) => h("i", { key: column, class: column <= row ? "sv-sees" : "" })),
        ),
      ),
    ),
  );
}
