// The parts of a sentence from Python: text, tokens, numbers in the colour of their distribution,
// terms.

import { flat } from "./dom.js";
import { h, termAttributes, Token } from "./view.js";

/** @import { Part } from "../../texts/__init__.py" */
/** @import { Inline, Paragraph } from "../learn/lessons.py" */

/** Glossary entries of numbers whose colour has another name. @type {Record<string, string>} */
const TERMS = { u: "coin", both: "threshold" };

const none = () => ({});

/**
 * @param {Part} piece
 * @param {(name: string) => object} [attributes] Returns attributes for a name such as "p" or "word the".
 */
export function sentencePart(piece, attributes = none) {
  if (typeof piece === "string") return piece;
  if (piece.w)
    return h("b", { class: "sv-token", ...attributes("word " + flat(piece.w)) }, Token(piece.w));
  if (piece.t !== undefined) return h("span", termAttributes(piece.term), piece.t);
  const term = piece.term ?? TERMS[piece.as] ?? piece.as;
  const all = { ...termAttributes(term), ...attributes(piece.as) };
  return h("span", { class: "sv-n sv-n-" + piece.as, ...all }, piece.n);
}

/**
 * A paragraph of a lesson.
 * @param {Paragraph} paragraph
 * @param {(name: string) => object} [attributes] As in `sentencePart`.
 */
export const inline = (paragraph, attributes = none) =>
  paragraph.map((piece) => inlinePart(piece, attributes));

/** @param {Inline} piece @param {(name: string) => object} attributes */
function inlinePart(piece, attributes) {
  if (typeof piece === "string") return piece;
  if ("b" in piece) return h("b", null, piece.b);
  if ("i" in piece) return h("i", null, piece.i);
  if ("a" in piece) return h("a", { href: piece.href, target: "_blank", rel: "noopener" }, piece.a);
  return sentencePart(piece, attributes);
}
