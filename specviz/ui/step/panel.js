// The inspector: the guesses, a guess being judged with its coin and table, a draw, or the round.

import { el, word } from "../shared/dom.js";
import { plot } from "../shared/plot.js";
import { trial } from "./coin.js";
import { draw } from "./draw.js";
import { showWhy } from "./evidence.js";
import { widthOf } from "./room.js";
import { squash } from "./size.js";
import { $ } from "./stage.js";
import { table } from "./table.js";

/** @import { Fact, GuessesPanel, Panel } from "./data.js" */

const ORDINALS = ["", "", "2nd", "3rd"];

/** @param {Panel} panel */
export function plotPanel(panel) {
  plot($(".sv-chart"), panel.figure, { squash: squash(), room: widthOf("panel") });
}

/** @param {Panel} panel */
export function showPanel(panel) {
  const title = $(".sv-title");
  title.replaceChildren(...panelTitle(panel));
  $(".sv-panel").dataset.kind = panel.kind;
  $(".sv-facts").replaceChildren(...(panel.facts || []).map(fact));
  $(".sv-trial").replaceChildren(...(panel.kind === "trial" ? trial(panel) : []));
  $(".sv-table").replaceChildren(...(panel.table ? table(panel.table) : []));
  $(".sv-draw").replaceChildren(...(panel.draw ? draw(panel, panel.draw) : []));
  showWhy(panel);
}

/** @param {Panel} panel */
function panelTitle(panel) {
  if (panel.kind === "guesses")
    return [guessesTitle(panel), shownOf(panel)].filter((each) => each !== null);
  if (panel.kind === "empty") return ["Nothing drafted"];
  if (panel.kind === "round") return ["Round " + panel.number];
  if (panel.kind === "law") return ["Sampled from p: ", el("span", "sv-token", word(panel.w))];
  const tries =
    panel.tries > 1 ? " · " + (ORDINALS[panel.tries] || panel.tries + "th") + " guess" : "";
  return [
    "Judging: ",
    el("span", "sv-token", word(panel.w)),
    el("span", "sv-sub", " at +" + panel.at + tries),
  ];
}

/** @param {GuessesPanel} panel */
function guessesTitle(panel) {
  if (!panel.scored) return "The drafter's guesses";
  return panel.greedy
    ? "Every guess: the target's softmax at temperature 1"
    : drawsQ(panel)
      ? "Every guess: p above, q below"
      : "p of every guess";
}

/** @param {GuessesPanel} panel */
function drawsQ({ figure }) {
  const bars = figure?.data["11-q"].x;
  return Array.isArray(bars) && bars.length > 0;
}

// Which guesses a shortened list has.
/** @param {GuessesPanel} panel */
function shownOf(panel) {
  if (!panel.of) return null;
  const which = panel.scored ? "first " : "newest ";
  const made = el("span", "sv-sub", " · " + which + panel.shown + " of " + panel.of);
  made.title =
    (panel.scored ? "The first " : "The newest ") + panel.shown + "; the tree has all of them";
  return made;
}

/** @param {Fact} pair */
function fact([name, value]) {
  return el("div", "sv-fact", el("span", "", name), el("b", "", value));
}
