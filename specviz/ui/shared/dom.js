// Elements of the page, and what the texts of tokens, terms and shares are.

import { GLOSSARY } from "./given.js";

/** @import { Child, Word } from "./data.js" */

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

const SPOKEN = { space: "␣", newline: "↵", tab: "⇥", return: "↲" };
/** @param {Word} pieces */
export const flat = (pieces) =>
  pieces
    .map((p) => (typeof p === "string" ? p : p.s || (p.g ? SPOKEN[p.g] : "<" + p.c + ">")))
    .join("");

// Whether white space stands before a word.
/** @param {Word} pieces */
export function startsSpaced([first, ...rest]) {
  return rest.length > 0 && typeof first === "object" && first.g === "space";
}

/** @param {string} term */
export const meaning = (term) => GLOSSARY[term] || "";
/** @param {number} value */
export const percent = (value) => (100 * value).toFixed(3) + "%";
