// Elements of the page, and texts of tokens, terms and shares.

import { GLOSSARY } from "./given.js";

/** @import { Word } from "../../frames/scene.py" */

// Return an element of the page outside the section; Gradio adds some of these late.
/** @param {string} id */
export const byId = (id) => document.getElementById(id);

const SPOKEN = { space: "␣", newline: "↵", tab: "⇥", return: "↲" };
/** @param {Word} pieces */
export const flat = (pieces) =>
  pieces
    .map((p) => (typeof p === "string" ? p : p.s || (p.g ? SPOKEN[p.g] : "<" + p.c + ">")))
    .join("");

// Return whether a word begins with white space.
/** @param {Word} pieces */
export function startsSpaced([first, ...rest]) {
  return rest.length > 0 && typeof first === "object" && first.g === "space";
}

/** @param {string} term */
export const meaning = (term) => GLOSSARY[term] || "";
/** @param {number} value */
export const percent = (value) => (100 * value).toFixed(3) + "%";
