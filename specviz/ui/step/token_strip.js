// The text strip: the prompt, the tokens of earlier rounds (each leads back to the step that
// decided it), and the chips of this round.

import { flat, startsSpaced } from "../shared/dom.js";
import { moveAmong, oneStop } from "../shared/stops.js";
import { there } from "../shared/there.js";
import {
  breaksLine,
  classes,
  h,
  Mark,
  render,
  runningPieces,
  Special,
  termAttributes,
  Token,
} from "../shared/view.js";
import { go, momentKey } from "./cursor.js";
import { linkAttributes } from "./hover_links.js";
import { isSimple } from "./mode.js";
import { reel, stepsOf } from "./reel.js";
import { $ } from "./stage.js";
import { pickNode } from "./what_if.js";

/** @import { ComponentChild, VNode } from "preact" */
/** @import { DrawnFrame as Frame } from "../../figures/charts.py" */
/** @import { Marks } from "../../frames/evidence/forms.py" */
/** @import { Chip, TurnBlock } from "../../frames/tree.py" */
/** @import { RoundLine, RunLine } from "./lines.py" */
/** @typedef {NonNullable<Marks["prompt"]>} Spans Marks, by the indices of their characters in the prompt. */

const RECENT = 120; // maximum rounds; a longer text is cut at its start, to keep steps fast
/** @type {Spans} */
const NO_SPANS = [];

/** @param {Frame} frame @param {number} round */
export function showTokenStrip(frame, round) {
  const from = Math.max(0, round - RECENT);
  const { prompt = NO_SPANS, past = [] } = frame.panel.why?.marks ?? {};
  const parts = [
    h("span", { class: "sv-prompt" }, from ? "… " : Prompt(there(reel.run), prompt)),
    h("span", { class: "sv-past", onKeyDown: moveAmong }, pastRounds(from, round, new Map(past))),
    h("span", { key: momentKey(), class: "sv-now" }, ...frame.chips.map((chip) => TokenChip(chip))),
  ];
  render(parts, $(".sv-text"));
  oneStop($(".sv-past"), null);
}

export const clearTokenStrip = () => render(null, $(".sv-text"));

// Scroll to the newest line, and to the source of a guess, if the text is longer than the strip.
export function scrollTokenStrip() {
  const box = $(".sv-text");
  box.scrollTop = box.scrollHeight;
  /** @type {HTMLElement | null} */
  const source = box.querySelector(".sv-src");
  if (!source) return;
  const line = Number.parseFloat(getComputedStyle(box).lineHeight);
  const top = Math.floor(Math.max(0, source.offsetTop - box.offsetTop) / line) * line;
  box.scrollTop = Math.min(box.scrollTop, top);
}

/**
 * A token of this round. A click on a guess leads to its verdict, or shows which verdicts would be
 * needed to reach it.
 * @param {Chip} chip
 * @param {number} [node]
 */
export function TokenChip(chip, node = chip.node) {
  const names = ["word " + flat(chip.w), ...(node ? ["node " + node] : [])];
  const attributes = {
    class: "sv-chip sv-" + chip.is,
    ...termAttributes(chip.is),
    ...linkAttributes(...names),
  };
  const parts = [Token(chip.w), Mark(chip.is)];
  if (!node || isSimple()) return h("span", attributes, ...parts);
  return h("button", { ...attributes, type: "button", onClick: () => pickNode(node) }, ...parts);
}

/** @type {WeakMap<RoundLine, VNode>} */
const unmarked = new WeakMap(); // identical nodes are not compared again, to keep steps fast

/** @param {number} from @param {number} round @param {Map<number, string>} marks By token. */
function pastRounds(from, round, marks) {
  let token = 0;
  return reel.rounds.slice(0, round).map((line, index) => {
    const kinds = line.brings.map((_, place) => marks.get(token + place));
    token += kinds.length;
    if (index < from) return null;
    if (kinds.some(Boolean)) return PastRound(line, index, kinds);
    const known = unmarked.get(line) ?? PastRound(line, index, []);
    unmarked.set(line, known);
    return known;
  });
}

/** @param {RoundLine} line @param {number} index @param {(string | undefined)[]} marks */
function PastRound(line, index, marks) {
  const back = () => go(index, stepsOf(index) - 1);
  const last = line.brings.at(-1);
  const attributes = {
    key: index,
    class: classes("sv-done", last && breaksLine(last[0]) && "sv-ends-line"),
    role: "button", // no button element: it must break where lines do
    title: "Round " + line.number + ": go back to where this token was decided",
    onClick: back,
    onKeyDown(/** @type {KeyboardEvent} */ event) {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      back();
    },
  };
  const tokens = line.brings.flatMap((token, place) => PastToken(token, index, marks[place]));
  return h("span", attributes, ...tokens);
}

/** @param {RoundLine["brings"][number]} token @param {number} index @param {string} [mark] */
function PastToken([pieces, kind, step], index, mark) {
  const blank = pieces.every((piece) => typeof piece === "object" && piece.g === "newline");
  const spaced = startsSpaced(pieces); // only the word is underlined
  const attributes = {
    class: classes("sv-h sv-" + kind, blank && "sv-only", mark && "sv-src sv-src-" + mark),
    onClick(/** @type {MouseEvent} */ event) {
      event.stopPropagation();
      go(index, step); // to the step where this token was decided
    },
  };
  const shown = h(
    "span",
    attributes,
    h("span", { class: "sv-w" }, ...runningPieces(spaced ? pieces.slice(1) : pieces)),
    kind === "recovered" || kind === "bonus" ? Mark(kind) : null,
    breaksLine(pieces) ? h("br", null) : null, // after the mark, which belongs to the word
  );
  return spaced ? [" ", shown] : [shown];
}

/**
 * The prompt: raw text, or for each turn the typed text and the template's text around it.
 * @param {RunLine} run
 * @param {Spans} spans
 * @returns {ComponentChild}
 */
function Prompt({ prompt, turns }, spans) {
  if (!turns.length) return Prose(prompt, 0, spans);
  let at = 0;
  return turns.map((turn, index) => {
    const parts = turn.parts.map((part) => {
      const begin = at;
      at += part.t.length;
      return WRITTEN[part.is](part.t, begin, spans);
    });
    // The answer begins on the line of the last turn.
    const name = classes("sv-turn", index === turns.length - 1 && "sv-turn-last");
    return h("span", { class: name, "data-role": turn.role || undefined }, ...parts);
  });
}

/** @type {Record<TurnBlock["parts"][number]["is"], (text: string, begin: number, spans: Spans) => VNode<any>>} */
const WRITTEN = {
  special: (text, begin, spans) => Special(Marked(text, begin, spans)),
  typed: (...prose) => h("span", { class: "sv-typed" }, Prose(...prose)),
  template: (text, begin, spans) =>
    h(
      "span",
      { class: "sv-template", title: "Written by the model's chat template, not typed" },
      Marked(text, begin, spans),
    ),
};

// The text without blank lines, which take no space; they are still in the page, but not shown.
/** @param {string} text @param {number} begin @param {Spans} spans */
function Prose(text, begin, spans) {
  let at = begin;
  return text.split(/(?<=\n)(\s*\n)/).map((piece, index) => {
    const shown = Marked(piece, at, spans);
    at += piece.length;
    return index % 2 ? h("span", { class: "sv-blank" }, shown) : shown;
  });
}

/**
 * A piece of the prompt that begins at this character, with its marks.
 * @param {string} text
 * @param {number} begin
 * @param {Spans} spans
 * @returns {ComponentChild}
 */
function Marked(text, begin, spans) {
  const end = begin + text.length;
  let done = 0;
  const parts = spans
    .filter(([from, to]) => from < end && to > begin)
    .flatMap(([from, to, kind]) => {
      const [start, stop] = [Math.max(from - begin, 0), Math.min(to - begin, text.length)];
      const before = text.slice(done, start);
      done = stop;
      return [before, h("span", { class: "sv-src sv-src-" + kind }, text.slice(start, stop))];
    });
  return parts.length ? [...parts, text.slice(done)] : text;
}
