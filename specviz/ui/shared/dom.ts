// Elements of the page, and texts of tokens, terms, shares and counts.

import { GLOSSARY } from "./given";

import type { Word } from "../../frames/scene.py";

// Return an element of the page outside the section; Gradio adds some of these late.
export const byId = (id: string) => document.getElementById(id);

/** Return whether keys pressed there are text, or choose from a list. */
export const isTyping = (target: EventTarget | null) =>
  target instanceof Element &&
  target.matches(
    "input:not([type=range], [type=checkbox], [type=radio]), textarea, select, [contenteditable]",
  );

const SPOKEN = { space: "␣", newline: "↵", tab: "⇥", return: "↲" };
const TYPED = { space: " ", newline: "\n", tab: "\t", return: "\r" };

// Bytes that are not text are written as numbers.
const joined = (pieces: Word, spaces: typeof SPOKEN) =>
  pieces
    .map((p) => (typeof p === "string" ? p : p.s || (p.g ? spaces[p.g] : "<" + p.c + ">")))
    .join("");

/** Return a token as one text, with signs for white space. */
export const flat = (pieces: Word) => joined(pieces, SPOKEN);

/** Return a token as it is in the text. */
export const typed = (pieces: Word) => joined(pieces, TYPED);

// Return whether a word begins with white space.
export function startsSpaced([first, ...rest]: Word) {
  return rest.length > 0 && typeof first === "object" && first.g === "space";
}

export const meaning = (term: string) => GLOSSARY[term] || "";
export const plural = (number: number, one: string, many = one + "s") =>
  number + " " + (number === 1 ? one : many);
export const percent = (value: number) => (100 * value).toFixed(3) + "%";
