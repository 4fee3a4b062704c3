// One target pass: a column per position with the target's most probable tokens. All arrive
// together when the guesses are scored, and each is highlighted when it has decided something. The
// style sheet shows this if there is space under the tree.

import { flat, percent } from "../shared/dom.js";
import { classes, h, Mark, render, Token } from "../shared/view.js";
import { SentencePart } from "./caption.js";
import { linkAttributes } from "./hover_links.js";
import { $, stage } from "./stage.js";

/** @import { Word } from "../../frames/scene.py" */
/** @import { PassColumn, TargetPass as Pass } from "../../frames/target_pass.py" */

/** @param {Pass | undefined} pass */
export function showTargetPass(pass) {
  const place = $(".sv-pass");
  place.hidden = !pass;
  if (!pass) return;
  render(TargetPass(pass.say, pass.columns ?? []), place);
}

// If the columns are wider than the window, scroll to the position that decides.
export function scrollTargetPass() {
  const box = stage.find(":is(.sv-slim, .sv-tight) .sv-pass-columns");
  if (!box) return;
  const columns = /** @type {HTMLElement[]} */ ([...box.children]);
  const here = columns.findIndex((each) => each.matches(".sv-pass-here"));
  const first = columns[Math.max(0, here - 2)];
  box.scrollLeft = first ? first.offsetLeft - columns[0].offsetLeft : 0;
}

/** @param {Pass["say"]} say @param {PassColumn[]} columns */
function TargetPass(say, columns) {
  // On a narrow page the columns can be scrolled, also by keys.
  const tabIndex = $(".sv").matches(".sv-slim, .sv-tight") ? 0 : undefined;
  return [
    h(
      "div",
      { class: "sv-pass-head" },
      h("h2", null, "One target pass"),
      h("p", { class: "sv-pass-say" }, ...say.map(SentencePart)),
    ),
    h("ol", { class: "sv-pass-columns", tabIndex }, ...columns.map(PositionColumn)),
  ];
}

/** @param {PassColumn} view */
function PositionColumn(view) {
  const attributes = {
    key: view.at,
    class: classes("sv-pass-column", view.here && "sv-pass-here"),
    "data-use": view.use,
    ...(view.node && view.w ? linkAttributes("node " + view.node, "word " + flat(view.w)) : {}),
  };
  const sign = view.is && view.use === "used" ? Mark(view.is) : null;
  return h(
    "li",
    attributes,
    h("span", { class: "sv-unseen" }, view.label), // says it in order
    h(
      "div",
      { "aria-hidden": "true" },
      h("span", { class: "sv-pass-at" }, "+" + view.at, sign, LostBonus(view)),
      likeliest(view),
    ),
  );
}

/** After every guess comes the bonus, unless one is rejected. @param {PassColumn} view */
const LostBonus = ({ use, w }) =>
  use === "unused" && !w ? h("span", { class: "sv-pass-lost" }, "no bonus") : null;

/** @param {PassColumn} view */
function likeliest({ top, w, rank, p }) {
  if (!top) return h("span", { class: "sv-pass-hidden" }, "after the verdict");
  const rows = top.map(([pieces, mass, text], index) =>
    TokenRow(pieces, mass, text, index === rank),
  );
  if (w && p) rows.push(TokenRow(w, p[0], p[1], rank === top.length));
  return rows;
}

/** @param {Word} pieces @param {number} mass @param {string} text @param {boolean} guessed */
const TokenRow = (pieces, mass, text, guessed) =>
  h(
    "div",
    {
      class: classes("sv-pass-row", guessed && "sv-pass-guess"),
      title: flat(pieces) + " " + text,
    },
    h("span", { class: "sv-pass-w" }, Token(pieces)),
    h("b", null, text),
    h("i", { class: "sv-pass-bar", style: { width: percent(mass) } }),
  );
