// Elements of the page, and what the texts of tokens, terms and shares are.

import { GLOSSARY } from "./given.js";

/** @import { Word } from "../../frames/scene.py" */

// An element of the page outside the section; Gradio puts some there late.
/** @param {string} id */
export const byId = (id) => document.getElementById(id);

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
