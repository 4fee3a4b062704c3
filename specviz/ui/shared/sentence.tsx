// The parts of a sentence from Python: text, tokens, numbers in the colour of their distribution,
// terms.

import { flat } from "./dom";
import { termAttributes, Token } from "./view";

import type { Part } from "../../texts/__init__.py";
import type { Inline, Paragraph } from "../learn/lessons.py";

/** Glossary entries of numbers whose colour has another name. */
const TERMS: Record<string, string> = { u: "coin", both: "threshold" };

const none = () => ({});

/** @param attributes Returns attributes for a name such as "p" or "word the". */
export function sentencePart(piece: Part, attributes: (name: string) => object = none) {
  if (typeof piece === "string") return piece;
  if (piece.w)
    return (
      <b class="sv-token" {...attributes("word " + flat(piece.w))}>
        {Token(piece.w)}
      </b>
    );
  if (piece.t !== undefined) return <span {...termAttributes(piece.term)}>{piece.t}</span>;
  const term = piece.term ?? TERMS[piece.as] ?? piece.as;
  const all = { ...termAttributes(term), ...attributes(piece.as) };
  return (
    <span class={"sv-n sv-n-" + piece.as} {...all}>
      {piece.n}
    </span>
  );
}

/**
 * A paragraph of a lesson.
 * @param attributes As in `sentencePart`.
 */
export const inline = (paragraph: Paragraph, attributes: (name: string) => object = none) =>
  paragraph.map((piece) => inlinePart(piece, attributes));

function inlinePart(piece: Inline, attributes: (name: string) => object) {
  if (typeof piece === "string") return piece;
  if ("b" in piece) return <b>{piece.b}</b>;
  if ("i" in piece) return <i>{piece.i}</i>;
  if ("a" in piece)
    return (
      <a href={piece.href} target="_blank" rel="noopener">
        {piece.a}
      </a>
    );
  return sentencePart(piece, attributes);
}
