// Why these guesses: the drafter's evidence. A line of tokens, rows with a bar, a grid, facts.

import { el, flat, mark, percent, word } from "../shared/dom.js";
import { part } from "./caption.js";
import { now } from "./now.js";
import { reel } from "./reel.js";
import { $, stage } from "./stage.js";
import { givenText, past } from "./text.js";

/** @import { Word } from "../shared/data.js" */
/** @import { Block, FactsBlock, GridBlock, LineBlock, RowsBlock } from "./data.js" */
/** @import { GridCell, GridRow, Marks, Panel, Why } from "./data.js" */

/** @type {Record<NonNullable<GridCell["is"]>, string>} */
const SAID = { given: "", own: "guessed", guess: "", root: "last token" };

// Space is reserved from a run's first evidence on, so that a step without any moves nothing.
/** @param {Panel} panel */
export function showWhy(panel) {
  const why = panel.why;
  $(".sv-why").replaceChildren(
    ...(why ? [whyHead(why, panel.kind), ...why.blocks.map(shown)] : []),
  );
  const told = reel.rounds.some((each) => each.first.panel.why);
  $(".sv-evidence").classList.toggle("sv-reasoned", told);
  $(".sv-panel").classList.toggle("sv-says-why", Boolean(why));
  markText(why?.marks ? why.marks : {});
}

/** @param {Why} why @param {string} kind */
function whyHead(why, kind) {
  const title = kind === "empty" ? "Why no guess" : "Why these guesses";
  return el("div", "sv-why-head", el("h3", "", title), el("p", "", ...why.say.map(part)));
}

/** @param {Word[]} words @param {string} name */
const tokens = (words, name) => words.map((pieces) => el("span", name, word(pieces)));
/** @param {HTMLElement} made @param {Word} pieces */
const titled = (made, pieces) => {
  made.title = flat(pieces);
  return made;
};
/** @param {number | undefined} many */
const more = (many) =>
  many ? el("p", "sv-why-more", "+" + many.toLocaleString("en") + " more") : null;

/** @param {Block} block */
function shown(block) {
  if (block.as === "line") return FORMS.line(block);
  if (block.as === "rows") return FORMS.rows(block);
  if (block.as === "grid") return FORMS.grid(block);
  return FORMS.facts(block);
}

const FORMS = {
  // Neighbouring words in the text; a run of one kind is one mark.
  /** @param {LineBlock} view */
  line(view) {
    const spans = view.spans.map((one) =>
      el("span", "sv-span sv-span-" + one.is, ...tokens(one.words, "sv-tok")),
    );
    return el(
      "div",
      "sv-why-line",
      el("span", "sv-why-at", view.label),
      el("span", "sv-why-words", ...spans),
    );
  },

  // A guess a row: words, a bar, a number.
  /** @param {RowsBlock} view */
  rows(view) {
    const heads = view.heads.map(whyHeadCell);
    const head = el("tr", "", ...heads);
    const barred = view.rows.some((one) => one.bar !== undefined);
    if (barred) heads[heads.length - 1].colSpan = 2;
    const lines = view.rows.map((one) => {
      const words = el("td", "sv-why-path", ...tokens(one.words, "sv-tok"));
      words.title = one.words.map(flat).join("");
      const bar = el("i", "sv-why-bar");
      bar.style.width = percent(one.bar || 0);
      const cells = [el("td", "sv-why-no", one.at), words, el("td", "sv-why-text", ...one.text)];
      if (barred) cells.splice(2, 0, el("td", "sv-why-track", el("div", "", bar)));
      return el("tr", one.here ? "sv-why-here" : "", ...cells);
    });
    const made = el("table", "sv-why-rows", el("thead", "", head), el("tbody", "", ...lines));
    return el("div", "", made, more(view.more));
  },

  // Layers, heads, places or steps across; guesses, states or rows of a window down.
  /** @param {GridBlock} view */
  grid(view) {
    const head = el("tr", "", ...view.heads.map(whyHeadCell));
    const split = view.split;
    const body = view.rows.flatMap((one) => gridRow(one, view, split));
    if (split) head.children[split].classList.add("sv-split");
    const name =
      "sv-why-grid" +
      (view.states ? " sv-why-states" : "") +
      (view.stacked ? " sv-why-stacked" : "");
    const made = el("table", name, el("thead", "", head), el("tbody", "", ...body));
    const keys = view.keys
      ? el(
          "p",
          "sv-why-keys",
          ...view.keys.map(([is, said]) =>
            el("span", "", el("i", "sv-cellkey sv-cell-" + is), said),
          ),
        )
      : null;
    return el(
      "div",
      "sv-why-box",
      made,
      more(view.more),
      view.note ? el("p", "sv-why-more", view.note) : null,
      keys,
    );
  },

  /** @param {FactsBlock} view */
  facts(view) {
    const pairs = view.facts.map(([name, value]) =>
      el("span", "sv-why-fact", name + " ", el("b", "", value)),
    );
    if (view.w) pairs[0].append(" ", el("b", "sv-tok", word(view.w)));
    return el("p", "sv-why-facts", ...pairs);
  },
};

/** @param {string} name */
function whyHeadCell(name) {
  const made = el("th", "", name);
  made.scope = "col";
  return made;
}

/** @param {GridRow} one @param {GridBlock} view @param {number | undefined} split */
function gridRow(one, view, split) {
  const label = el(
    "th",
    "sv-why-label",
    one.mark ? mark(one.mark) : null,
    one.w ? word(one.w) : one.label,
  );
  label.scope = "row";
  if (one.w) titled(label, one.w);
  const cells = one.cells.map((cell, index) => {
    const made = gridCell(cell);
    if (split && index + 1 === split) made.classList.add("sv-split");
    return made;
  });
  if (one.tail !== undefined) cells.push(el("td", "sv-why-tail", one.tail));
  const line = el("tr", "", label, ...cells);
  if (!one.group) return [line];
  const name = el("th", "sv-why-group", one.group);
  name.colSpan = view.heads.length;
  name.scope = "colgroup";
  return [el("tr", "", name), line];
}

const STATES = { on: "predicts it", off: "predicts another", none: "not run" };

/** @param {GridCell} cell */
function gridCell(cell) {
  if (cell.s) {
    const made = el(
      "td",
      "sv-why-cell",
      el("i", "sv-cell sv-cell-" + cell.s),
      el("span", "sv-unseen", STATES[cell.s]),
    );
    return made;
  }
  const made = el("td", "sv-why-word" + (cell.is ? " sv-why-" + cell.is : ""));
  if (cell.w) made.append(el("span", "sv-tok", word(cell.w)));
  if (cell.n) made.append(el("span", "sv-why-n", cell.n));
  if (cell.is && SAID[cell.is]) made.append(el("span", "sv-unseen", SAID[cell.is]));
  return cell.w ? titled(made, cell.w) : made;
}

// The places in the text strip that a guess came from, where they are on screen.
/** @param {Marks} marks */
function markText(marks) {
  for (const old of stage.element.querySelectorAll(".sv-src"))
    old.classList.remove("sv-src", "sv-src-match", "sv-src-copied", "sv-src-state");
  markPrompt(marks.prompt || []);
  let token = 0;
  const wanted = new Map(marks.past || []);
  if (!wanted.size) return;
  reel.rounds.slice(0, now.at.round).forEach((told, index) => {
    const made = past.get(index)?.querySelectorAll(".sv-h") || [];
    told.brings.forEach((_, place) => {
      const is = wanted.get(token + place);
      if (is && made[place]) made[place].classList.add("sv-src", "sv-src-" + is);
    });
    token += told.brings.length;
  });
}

/** @param {[number, number, string][]} spans */
function markPrompt(spans) {
  const place = $(".sv-prompt");
  if (!spans.length || place.textContent !== givenText()) return;
  const walk = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
  /** @type {Text[]} */
  const texts = [];
  while (walk.nextNode()) texts.push(/** @type {Text} */ (walk.currentNode));
  let at = 0;
  for (const text of texts) at = markWithin(text, at, spans);
}

// The marks' letters in a piece of the prompt's text, which begins at a letter; where it ends.
/** @param {Text} text @param {number} begin @param {[number, number, string][]} spans */
function markWithin(text, begin, spans) {
  const { data } = text;
  const end = begin + data.length;
  const inside = spans.filter(([from, to]) => from < end && to > begin);
  let done = 0;
  const parts = inside.flatMap(([from, to, is]) => {
    const [start, stop] = [Math.max(from - begin, 0), Math.min(to - begin, data.length)];
    const marked = el("span", "sv-src sv-src-" + is, data.slice(start, stop));
    const both = [data.slice(done, start), marked];
    done = stop;
    return both;
  });
  if (inside.length) text.replaceWith(...parts, data.slice(done));
  return end;
}
