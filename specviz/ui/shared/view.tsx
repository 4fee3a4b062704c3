// Building blocks of components: elements, marks and words as Preact's virtual nodes. Text is data,
// never markup. `render(node, place)` shows a node in an element and later changes only what
// differs, so focus, selection and listeners are kept.

import { Component, Fragment, h, render } from "preact";
import { GLOSSARY, GLYPHS, ICONS, MARKS } from "./given";

import type { ComponentChild, VNode } from "preact";
import type { Stroke } from "../../figures/marks.py";
import type { Word } from "../../frames/scene.py";

export { Component, Fragment, h, render };

/** Join class names, without those that are empty or false. */
export const classes = (...names: (string | false | null | undefined)[]) =>
  names.filter(Boolean).join(" ");

/** @param name Its class. */
export function Drawing(box: string, paths: Stroke[], name: string) {
  return (
    <svg viewBox={box} class={name} aria-hidden="true">
      {paths.map(([d, style]) => (
        <path d={d} class={style} />
      ))}
    </svg>
  );
}

/** The mark for what happened to a token; nothing for a state without a mark. */
export function Mark(state: string) {
  const paths = MARKS[state];
  return paths ? Drawing("0 0 12 12", paths, "sv-mark") : null;
}

export const Icon = (name: string) => Drawing("0 0 16 16", ICONS[name], "sv-icon");

export const Button = (label: ComponentChild, onClick: () => void, attributes?: object) => (
  <button type="button" onClick={onClick} {...attributes}>
    {label}
  </button>
);

/** A button that closes or leaves what it is in. */
export const AwayButton = (label: string, onClick: () => void) =>
  Button("×", onClick, { key: "away", class: "sv-away", "aria-label": label, title: label });

/** A special token, drawn as a sign, since it is not text: it belongs to a template, or ends a text. */
export const Special = (name: ComponentChild) => (
  <span class="sv-special" title="A special token: one token for the model, not part of the text">
    {name}
  </span>
);

function Piece(piece: Word[number]): ComponentChild {
  if (typeof piece === "string") return piece;
  if (piece.s) return Special(piece.s);
  if (piece.g) return Drawing(...GLYPHS[piece.g], "sv-glyph sv-" + piece.g);
  return <span class="sv-code">{"<" + piece.c + ">"}</span>;
}

/** A token: text, white space made visible, and bytes that are not text as numbers. */
export const Token = (pieces: Word) => <span class="sv-w">{pieces.map(Piece)}</span>;

/** Return whether a token ends the line. */
export const breaksLine = (pieces: Word) =>
  pieces.some((piece) => typeof piece === "object" && piece.g === "newline");

/** The pieces of a token inside running text, where spaces are ordinary spaces. */
export const runningPieces = (pieces: Word) =>
  pieces.map((piece) => (typeof piece === "object" && piece.g === "space" ? " " : Piece(piece)));

/** A token inside running text, where spaces and line breaks are ordinary ones. */
export const RunningToken = (pieces: Word) => (
  <span class="sv-w">
    {runningPieces(pieces)}
    {breaksLine(pieces) ? <br /> : null}
  </span>
);

/** A sentence, followed by numbers that change too often to be read aloud. */
export const Sentence = (sentence: string, numbers?: string) => [
  sentence,
  numbers ? (
    <span class="sv-numbers" aria-hidden="true">
      {numbers}
    </span>
  ) : null,
];

/** Facts such as " · γ 5 · seed 1", each of which stays on one line. */
export const InlineFacts = (text: string) => (
  <span>{text.split(" · ").map((each, at) => [at > 0 && " · ", <span>{each}</span>])}</span>
);

/** The heads of a table's columns. */
export const HeadRow = (heads: ComponentChild[]) => (
  <tr>
    {heads.map((head) => (
      <th scope="col">{head}</th>
    ))}
  </tr>
);

/** A row of a table, which begins with its head. */
export const TableRow = ([head, ...cells]: ComponentChild[], at: number) => (
  <tr key={at}>
    <th scope="row">{head}</th>
    {cells.map((cell) => (
      <td>{cell}</td>
    ))}
  </tr>
);

/**
 * Return the attributes of an element that has a glossary entry: its card opens on a click, a tap
 * or when the mouse rests on it (terms.js).
 */
export const termAttributes = (term: string | undefined): Record<string, string> =>
  term && Object.hasOwn(GLOSSARY, term) ? { "data-term": term } : {};

/** A small area in a colour, of a legend. */
export const Swatch = (hue: string) => <i class={"sv-sw sv-sw-" + hue} />;

/** @param term Its glossary entry, if it has one. */
export const LegendEntry = (term: string, label: string, sign: ComponentChild) => (
  <span class={"sv-key sv-key-" + term} {...termAttributes(term)}>
    {sign}
    {label}
  </span>
);

/** Create an element of the page from a node, for code that inserts it elsewhere. */
export function toElement<Made extends Element = HTMLElement>(node: VNode): Made {
  const place = document.createElement("div");
  render(node, place);
  return place.firstElementChild as Made;
}
