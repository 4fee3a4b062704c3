// The section "Why these guesses": how the drafter found them, as a line of tokens, rows with bars,
// a table, or facts.

import { flat, percent } from "../shared/dom.js";
import { classes, h, Mark, Token } from "../shared/view.js";
import { SentencePart } from "./caption.js";

/** @import { Word } from "../../frames/scene.py" */
/** @import { Block, Cell as GridCell, FactsBlock, GridBlock, GridRow } from "../../frames/evidence/forms.py" */
/** @import { LineBlock, RowsBlock, Why } from "../../frames/evidence/forms.py" */

/** @param {Why} why @param {boolean} empty Whether nothing was drafted. */
export const DrafterEvidence = (why, empty) => [
  h(
    "div",
    { class: "sv-why-head" },
    h("h3", null, empty ? "Why no guess" : "Why these guesses"),
    h("p", null, ...why.say.map(SentencePart)),
  ),
  ...why.blocks.map(Shown),
];

/** @param {Block} block */
function Shown(block) {
  if (block.as === "line") return Line(block);
  if (block.as === "rows") return Rows(block);
  if (block.as === "grid") return Grid(block);
  return Facts(block);
}

/** @param {Word} word */
const Tok = (word) => h("span", { class: "sv-tok" }, Token(word));

/** @param {number | undefined} count */
const More = (count) =>
  count ? h("p", { class: "sv-why-more" }, "+" + count.toLocaleString("en") + " more") : null;

/** @param {string} name @param {number} [columns] @param {boolean} [split] */
const ColumnHead = (name, columns, split) =>
  h("th", { scope: "col", colspan: columns, class: split ? "sv-split" : undefined }, name);

/**
 * A line of neighbouring words in the text; words of one kind are marked together.
 * @param {LineBlock} view
 */
const Line = (view) =>
  h(
    "div",
    { class: "sv-why-line" },
    h("span", { class: "sv-why-at" }, view.label),
    h(
      "span",
      { class: "sv-why-words" },
      view.spans.map(({ is, words }) =>
        h("span", { class: "sv-span sv-span-" + is }, words.map(Tok)),
      ),
    ),
  );

/** One row per guess: words, a bar, a number. @param {RowsBlock} view */
function Rows(view) {
  const barred = view.rows.some((row) => row.bar !== undefined);
  const last = view.heads.length - 1;
  const heads = view.heads.map((name, index) =>
    ColumnHead(name, barred && index === last ? 2 : undefined),
  );
  const lines = view.rows.map((row) =>
    h(
      "tr",
      { class: row.here ? "sv-why-here" : undefined },
      h("td", { class: "sv-why-no" }, row.at),
      h("td", { class: "sv-why-path", title: row.words.map(flat).join("") }, row.words.map(Tok)),
      barred ? h("td", { class: "sv-why-track" }, h("div", null, Bar(row.bar || 0))) : null,
      h("td", { class: "sv-why-text" }, ...row.text),
    ),
  );
  const table = h(
    "table",
    { class: "sv-why-rows" },
    h("thead", null, h("tr", null, heads)),
    h("tbody", null, lines),
  );
  return h("div", null, table, More(view.more));
}

/** @param {number} length */
const Bar = (length) => h("i", { class: "sv-why-bar", style: { width: percent(length) } });

/**
 * A table. Columns are layers, heads, positions or steps; rows are guesses, states or rows of a
 * window.
 * @param {GridBlock} view
 */
function Grid(view) {
  const kinds = [view.states && "sv-why-states", view.stacked && "sv-why-stacked"];
  const heads = view.heads.map((name, index) =>
    ColumnHead(name, undefined, Boolean(view.split) && index === view.split),
  );
  return h(
    "div",
    { class: "sv-why-box" },
    h(
      "table",
      { class: classes("sv-why-grid", ...kinds) },
      h("thead", null, h("tr", null, heads)),
      h(
        "tbody",
        null,
        view.rows.map((row) => Row(row, view)),
      ),
    ),
    More(view.more),
    view.note ? h("p", { class: "sv-why-more" }, view.note) : null,
    view.keys ? h("p", { class: "sv-why-keys" }, view.keys.map(Key)) : null,
  );
}

/** @param {[is: string, meaning: string]} key */
const Key = ([is, meaning]) =>
  h("span", null, h("i", { class: "sv-cellkey sv-cell-" + is }), meaning);

/** @param {GridRow} row @param {GridBlock} view */
function Row(row, { heads, split }) {
  const group =
    row.group &&
    h(
      "tr",
      null,
      h("th", { class: "sv-why-group", colspan: heads.length, scope: "colgroup" }, row.group),
    );
  const label = h(
    "th",
    { class: "sv-why-label", scope: "row", title: row.w && flat(row.w) },
    row.mark ? Mark(row.mark) : null,
    row.w ? Token(row.w) : row.label,
  );
  const cells = row.cells.map((cell, index) => Cell(cell, Boolean(split) && index + 1 === split));
  const tail = row.tail === undefined ? null : h("td", { class: "sv-why-tail" }, row.tail);
  return [group, h("tr", null, label, cells, tail)];
}

const STATES = { on: "predicts it", off: "predicts another", none: "not run" };
const ORIGINS = { given: "", own: "guessed", guess: "", root: "last token" };

/** @param {string} text */
const Unseen = (text) => h("span", { class: "sv-unseen" }, text);

/** @param {GridCell} cell @param {boolean} split */
function Cell({ w, n, s, is }, split) {
  if (s)
    return h(
      "td",
      { class: classes("sv-why-cell", split && "sv-split") },
      h("i", { class: "sv-cell sv-cell-" + s }),
      Unseen(STATES[s]),
    );
  return h(
    "td",
    {
      class: classes("sv-why-word", is && "sv-why-" + is, split && "sv-split"),
      title: w && flat(w),
    },
    w ? Tok(w) : null,
    n ? h("span", { class: "sv-why-n" }, n) : null,
    is && ORIGINS[is] ? Unseen(ORIGINS[is]) : null,
  );
}

/** @param {FactsBlock} view */
const Facts = (view) =>
  h(
    "p",
    { class: "sv-why-facts" },
    view.facts.map(([name, value], index) =>
      h(
        "span",
        { class: "sv-why-fact" },
        name + " ",
        h("b", null, value),
        view.w && index === 0 ? [" ", h("b", { class: "sv-tok" }, Token(view.w))] : null,
      ),
    ),
  );
