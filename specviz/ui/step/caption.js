// The sentence and its badge.

import { el, flat, mark, termed, word } from "../shared/dom.js";
import { h, termAttributes, Token } from "../shared/view.js";
import { link, linkAttributes } from "./hover_links.js";
import { $ } from "./stage.js";

/** @import { Caption, Part } from "./data.js" */

/** @param {Part} piece */
export function part(piece) {
  if (typeof piece === "string") return document.createTextNode(piece);
  if (piece.w) return link(el("b", "sv-token", word(piece.w)), "word " + flat(piece.w));
  if (piece.t !== undefined) return termed(el("span", "", piece.t), piece.term);
  const made = el("span", "sv-n sv-n-" + piece.as, piece.n);
  return link(termed(made, piece.as === "u" ? "coin" : piece.as), piece.as);
}

/** A part of a sentence as a node. @param {Part} piece */
export function SentencePart(piece) {
  if (typeof piece === "string") return piece;
  if (piece.w)
    return h(
      "b",
      { class: "sv-token", ...linkAttributes("word " + flat(piece.w)) },
      Token(piece.w),
    );
  if (piece.t !== undefined) return h("span", termAttributes(piece.term), piece.t);
  const term = piece.as === "u" ? "coin" : piece.as;
  const attributes = { ...termAttributes(term), ...linkAttributes(piece.as) };
  return h("span", { class: "sv-n sv-n-" + piece.as, ...attributes }, piece.n);
}

// A button that a sentence ends with.
/** @param {string} label @param {() => void} act */
export function answerButton(label, act) {
  const made = el("button", "sv-answer", label);
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}

/** @param {Caption} caption */
export function showCaption(caption) {
  const badge = $(".sv-verdict");
  badge.className = "sv-verdict sv-is-" + caption.is;
  badge.replaceChildren(
    ...[mark(caption.is), document.createTextNode(caption.label)].filter((each) => each !== null),
  );
  termed(badge, caption.is);
  $(".sv-say").replaceChildren(...caption.parts.map(part));
}
