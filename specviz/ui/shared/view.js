// Building blocks of components: elements, marks and words as Preact's virtual nodes. Text is data,
// never markup. `render(node, place)` shows a node in an element and later changes only what
// differs, so focus, selection and listeners are kept.

import { Component, Fragment, h, render } from "preact";
import { GLOSSARY, GLYPHS, ICONS, MARKS } from "./given.js";

/** @import { ComponentChild, VNode } from "preact" */
/** @import { Stroke } from "../../figures/marks.py" */
/** @import { Word } from "../../frames/scene.py" */

export { Component, Fragment, h, render };

/**
 * Join class names, without those that are empty or false.
 * @param {...(string | false | null | undefined)} names
 */
export const classes = (...names) => names.filter(Boolean).join(" ");

/** @param {string} box @param {Stroke[]} paths @param {string} name Its class. */
export function Drawing(box, paths, name) {
  return h(
    "svg",
    { viewBox: box, class: name, "aria-hidden": "true" },
    ...paths.map(([d, style]) => h("path", { d, class: style })),
  );
}

/**
 * The mark for what happened to a token; nothing for a state without a mark.
 * @param {string} state
 */
export function Mark(state) {
  const paths = MARKS[state];
  return paths ? Drawing("0 0 12 12", paths, "sv-mark") : null;
}

/** @param {string} name */
export const Icon = (name) => Drawing("0 0 16 16", ICONS[name], "sv-icon");

/** @param {ComponentChild} label @param {() => void} onClick @param {object} [attributes] */
export const Button = (label, onClick, attributes) =>
  h("button", { type: "button", onClick, ...attributes }, label);

/**
 * A special token, drawn as a sign, since it is not text: it belongs to a template, or ends a text.
 * @param {ComponentChild} name
 */
export const Special = (name) =>
  h(
    "span",
    {
      class: "sv-special",
      title: "A special token: one token for the model, not part of the text",
    },
    name,
  );

/** @param {Word[number]} piece @returns {ComponentChild} */
function Piece(piece) {
  if (typeof piece === "string") return piece;
  if (piece.s) return Special(piece.s);
  if (piece.g) return Drawing(...GLYPHS[piece.g], "sv-glyph sv-" + piece.g);
  return h("span", { class: "sv-code" }, "<" + piece.c + ">");
}

/**
 * A token: text, white space made visible, and bytes that are not text as numbers.
 * @param {Word} pieces
 */
export const Token = (pieces) => h("span", { class: "sv-w" }, ...pieces.map(Piece));

/** Return whether a token ends the line. @param {Word} pieces */
export const breaksLine = (pieces) =>
  pieces.some((piece) => typeof piece === "object" && piece.g === "newline");

/**
 * The pieces of a token inside running text, where spaces are ordinary spaces.
 * @param {Word} pieces
 */
export const runningPieces = (pieces) =>
  pieces.map((piece) => (typeof piece === "object" && piece.g === "space" ? " " : Piece(piece)));

/**
 * A token inside running text, where spaces and line breaks are ordinary ones.
 * @param {Word} pieces
 */
export const RunningToken = (pieces) =>
  h("span", { class: "sv-w" }, ...runningPieces(pieces), breaksLine(pieces) ? h("br", null) : null);

/**
 * A sentence, followed by numbers that change too often to be read aloud.
 * @param {string} sentence
 * @param {string} [numbers]
 */
export const Sentence = (sentence, numbers) => [
  sentence,
  numbers ? h("span", { class: "sv-numbers", "aria-hidden": "true" }, numbers) : null,
];

/** Facts such as " · γ 5 · seed 1", each of which stays on one line. @param {string} text */
export const InlineFacts = (text) =>
  h(
    "span",
    null,
    text.split(" · ").map((each, at) => [at > 0 && " · ", h("span", null, each)]),
  );

/** The heads of a table's columns. @param {ComponentChild[]} heads */
export const HeadRow = (heads) =>
  h(
    "tr",
    null,
    heads.map((head) => h("th", { scope: "col" }, head)),
  );

/** A row of a table, which begins with its head. @param {ComponentChild[]} row @param {number} at */
export const TableRow = ([head, ...cells], at) =>
  h(
    "tr",
    { key: at },
    h("th", { scope: "row" }, head),
    cells.map((cell) => h("td", null, cell)),
  );

/**
 * Return the attributes of an element that has a glossary entry: its card opens on a click, a tap
 * or when the mouse rests on it (terms.js).
 * @param {string | undefined} term
 * @returns {Record<string, string>}
 */
export const termAttributes = (term) =>
  term && Object.hasOwn(GLOSSARY, term) ? { "data-term": term } : {};

/**
 * Create an element of the page from a node, for code that inserts it elsewhere.
 * @template {Element} [Made=HTMLElement]
 * @param {VNode<any>} node
 * @returns {Made}
 */
export function toElement(node) {
  const place = document.createElement("div");
  render(node, place);
  return /** @type {Made} */ (place.firstElementChild);
}
