// The sentence about the step on screen, with its badge; and components of other sentences.

import { sentencePart } from "../shared/sentence.js";
import { classes, h, Mark, termAttributes } from "../shared/view.js";
import { momentKey } from "./cursor.js";
import { linkAttributes } from "./hover_links.js";

/** @import { ComponentChild } from "preact" */
/** @import { Caption as Said } from "../../frames/caption.py" */
/** @import { Part } from "../../texts/__init__.py" */

/** @param {Part} piece */
export const SentencePart = (piece) => sentencePart(piece, linkAttributes);

/** A button at the end of a sentence. @param {string} label @param {() => void} onClick */
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
