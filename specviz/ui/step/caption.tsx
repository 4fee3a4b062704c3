// The sentence about the step on screen, with its badge; and components of other sentences.

import { sentencePart } from "../shared/sentence";
import { classes, Mark, termAttributes } from "../shared/view";
import { momentKey } from "./state";
import { linkAttributes } from "./hover_links";

import type { ComponentChild } from "preact";
import type { Caption as Said } from "../../frames/caption.py";
import type { Part } from "../../texts/__init__.py";

export const SentencePart = (piece: Part) => sentencePart(piece, linkAttributes);

/** A button at the end of a sentence. */
export const AnswerButton = (label: string, onClick: () => void) => (
  <button key={label} class="sv-answer" type="button" onClick={onClick}>
    {label}
  </button>
);

export const Caption = (is: Said["is"] | "if" | "", label: string, sentence: ComponentChild[]) => [
  <span class={classes("sv-verdict", is && "sv-is-" + is)} {...termAttributes(is)}>
    {Mark(is)}
    {label}
  </span>,
  <p key={momentKey()} class="sv-say">
    {sentence}
  </p>,
];
