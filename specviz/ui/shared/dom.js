// Elements, marks and words. Text is set as text, never as markup.

import { GLOSSARY } from "./given.js";
import { GLYPHS, ICONS, MARKS } from "./marks.js";

/** @import { Child, Stroke, Word } from "./data.js" */

const SVG = "http://www.w3.org/2000/svg";

// An element of the page outside the section; Gradio puts some there late.
/** @param {string} id */
export const byId = (id) => document.getElementById(id);

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string} [name] Its class.
 * @param {...Child} children
 */
export function el(tag, name, ...children) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/**
 * Writes a sentence, and behind it numbers that change too often to be read aloud.
 * @param {HTMLElement} element
 * @param {string} sentence
 * @param {string} [numbers]
 */
export function write(element, sentence, numbers) {
  const [text, tail] = element.childNodes;
  if (numbers && tail && text.textContent === sentence) tail.textContent = numbers;
  else {
    const span = numbers ? el("span", "sv-numbers", numbers) : "";
    if (span) span.setAttribute("aria-hidden", "true");
    element.replaceChildren(sentence, span);
  }
}

/** @param {string} box @param {Stroke[]} paths @param {string} name */
export function drawing(box, paths, name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", box);
  svg.setAttribute("class", name);
  svg.setAttribute("aria-hidden", "true");
  for (const [d, style] of paths) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", d);
    path.setAttribute("class", style);
    svg.append(path);
  }
  return svg;
}

/** @param {string} state */
export function mark(state) {
  const paths = MARKS[state];
  return paths ? drawing("0 0 12 12", paths, "sv-mark") : null;
}
/** @param {string} name */
export const icon = (name) => drawing("0 0 16 16", ICONS[name], "sv-icon");

// A special token: no text, but a sign that a template or an end of text is made of.
/** @param {string} name */
export function special(name) {
  const made = el("span", "sv-special", name);
  made.title = "A special token: one token for the model, not part of the text";
  return made;
}

// A token as it is: text, white space made visible, bytes that are no text by number.
/** @param {Word} pieces */
export function word(pieces) {
  const made = el("span", "sv-w");
  for (const piece of pieces) {
    if (typeof piece === "string") made.append(piece);
    else if (piece.s) made.append(special(piece.s));
    else if (piece.g) made.append(drawing(...GLYPHS[piece.g], "sv-glyph sv-" + piece.g));
    else made.append(el("span", "sv-code", "<" + piece.c + ">"));
  }
  return made;
}

const SPOKEN = { space: "␣", newline: "↵", tab: "⇥", return: "↲" };
/** @param {Word} pieces */
export const flat = (pieces) =>
  pieces
    .map((p) => (typeof p === "string" ? p : p.s || (p.g ? SPOKEN[p.g] : "<" + p.c + ">")))
    .join("");

// A token inside running text: white space does its work there.
/** @param {Word} pieces */
export function running(pieces) {
  const made = el("span", "sv-w");
  for (const piece of pieces) {
    if (typeof piece === "string") made.append(piece);
    else if (piece.s) made.append(special(piece.s));
    else if (piece.g === "space") made.append(" ");
    else if (piece.g) made.append(drawing(...GLYPHS[piece.g], "sv-glyph sv-" + piece.g));
    else made.append(el("span", "sv-code", "<" + piece.c + ">"));
  }
  if (pieces.some((piece) => typeof piece === "object" && piece.g === "newline"))
    made.append(el("br"));
  return made;
}

// Whether white space stands before a word.
/** @param {Word} pieces */
export function startsSpaced([first, ...rest]) {
  return rest.length > 0 && typeof first === "object" && first.g === "space";
}

// Makes an element one of the field's words: its card opens at a click, a tap or a stay (terms.js).
/** @template {HTMLElement} Element @param {Element} element @param {string} term @returns {Element} */
export function termed(element, term) {
  if (term in GLOSSARY) element.dataset.term = term;
  else delete element.dataset.term;
  return element;
}

/** @param {string} term */
export const meaning = (term) => GLOSSARY[term] || "";
/** @param {number} value */
export const percent = (value) => (100 * value).toFixed(3) + "%";
