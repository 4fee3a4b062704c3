// The sentence about the step on screen, with its badge; and what other sentences are made of.

import { flat } from "../shared/dom.js";
import { classes, h, Mark, termAttributes, Token } from "../shared/view.js";
import { momentKey } from "./cursor.js";
import { linkAttributes } from "./hover_links.js";

/** @import { ComponentChild } from "../vendor/preact.js" */
/** @import { Caption as Said } from "../../frames/caption.py" */
/** @import { Part } from "../../texts/render.py" */

/** The terms of numbers whose colour has another name. @type {Record<string, string>} */
const TERMS = { u: "coin", both: "threshold" };

/** @param {Part} piece */
export function SentencePart(piece) {
  if (typeof piece === "string") return piece;
  if (piece.w)
    return h(
      "b",
      { class: "sv-token", ...linkAttributes("word " + flat(piece.w)) },
      Token(piece.w),
    );
  if (piece.t !== undefined) return h("span", termAttributes(piece.term), piece.t);
  const attributes = {
    ...termAttributes(TERMS[piece.as] ?? piece.as),
    ...linkAttributes(piece.as),
  };
  return h("span", { class: "sv-n sv-n-" + piece.as, ...attributes }, piece.n);
}

/** A button that a sentence ends with. @param {string} label @param {() => void} onClick */
export const AnswerButton = (label, onClick) =>
  h("button", { key: label, class: "sv-answer", type: "button", onClick }, label);

/**
 * @param {Said["is"] | "if" | ""} is
 * @param {string} label
 * @param {ComponentChild[]} sentence
 */
export const Caption = (is, label, sentence) => [
  h(
    "span",
    { class: classes("sv-verdict", is && "sv-is-" + is), ...termAttributes(is) },
    Mark(is),
    label,
  ),
  h("p", { key: momentKey(), class: "sv-say" }, ...sentence),
];
