// The text strip: the prompt, the tokens of earlier rounds (each leads back to the step that
// decided it), and the chips of this round.

import { flat, startsSpaced } from "../shared/dom";
import { moveAmong, oneStop } from "../shared/stops";
import { required } from "../shared/required";
import {
  breaksLine,
  classes,
  Mark,
  render,
  runningPieces,
  Special,
  termAttributes,
  Token,
} from "../shared/view";
import { go, momentKey, player, stepsOf } from "./state";
import { linkAttributes } from "./hover_links";
import { isSimple } from "./mode";
import { $ } from "./stage";
import { pickNode } from "./what_if";

import type { ComponentChild, VNode } from "preact";
import type { DrawnFrame as Frame } from "../../figures/frame.py";
import type { Marks } from "../../frames/evidence/forms.py";
import type { Chip, TurnBlock } from "../../frames/tree.py";
import type { RoundLine, RunLine } from "./lines.py";
/** Marks, by the indices of their characters in the prompt. */
export type Spans = NonNullable<Marks["prompt"]>;

const RECENT = 120; // maximum rounds; a longer text is cut at its start, to keep steps fast
const NO_SPANS: Spans = [];

export function showTokenStrip(frame: Frame, round: number) {
  const from = Math.max(0, round - RECENT);
  const { prompt = NO_SPANS, past = [] } = frame.panel.why?.marks ?? {};
  const parts = [
    <span class="sv-prompt">{from ? "… " : Prompt(required(player.run), prompt)}</span>,
    <span class="sv-past" onKeyDown={moveAmong}>
      {pastRounds(from, round, new Map(past))}
    </span>,
    <span key={momentKey()} class="sv-now">
      {isSimple() ? Alternatives(frame) : frame.chips.map((chip) => TokenChip(chip))}
    </span>,
  ];
  render(parts, $(".sv-text"));
  oneStop($(".sv-past"), null);
}

/** The chips of this round; those for the same place in the text are one group, with "or" between. */
function Alternatives({ chips, tree }: Frame) {
  const groups: Chip[][] = [];
  const parent = ({ node }: Chip) => node && tree.nodes[node].parent;
  for (const chip of chips) {
    const last = groups.at(-1);
    if (last && chip.node && parent(chip) === parent(last[0])) last.push(chip);
    else groups.push([chip]);
  }
  return groups.map((group) =>
    group.length === 1 ? (
      TokenChip(group[0])
    ) : (
      <span class="sv-either">
        {group.flatMap((chip, at) => [at ? " or " : null, TokenChip(chip)])}
      </span>
    ),
  );
}

export const clearTokenStrip = () => render(null, $(".sv-text"));

// Scroll to the newest line, and to the source of a guess, if the text is longer than the strip.
export function scrollTokenStrip() {
  const box = $(".sv-text");
  box.scrollTop = box.scrollHeight;
  // A long prompt without anything to press can be scrolled by keyboard.
  if (box.scrollHeight > box.clientHeight && !box.querySelector("button")) box.tabIndex = 0;
  else box.removeAttribute("tabindex");
  const source: HTMLElement | null = box.querySelector(".sv-src");
  if (!source) return;
  const line = Number.parseFloat(getComputedStyle(box).lineHeight);
  const top = Math.floor(Math.max(0, source.offsetTop - box.offsetTop) / line) * line;
  box.scrollTop = Math.min(box.scrollTop, top);
}

/**
 * A token of this round. A click on a guess leads to its verdict, or shows which verdicts would be
 * needed to reach it.
 */
export function TokenChip(chip: Chip, node: number | undefined = chip.node) {
  const names = ["word " + flat(chip.w), ...(node ? ["node " + node] : [])];
  const attributes = {
    class: "sv-chip sv-" + chip.is,
    ...termAttributes(chip.is),
    ...linkAttributes(...names),
  };
  const parts = [Token(chip.w), Mark(chip.is)];
  if (!node || isSimple()) return <span {...attributes}>{parts}</span>;
  return (
    <button {...attributes} type="button" onClick={() => pickNode(node)}>
      {parts}
    </button>
  );
}

const unmarked: WeakMap<RoundLine, VNode> = new WeakMap(); // identical nodes are not compared again, to keep steps fast

/** @param marks By token. */
function pastRounds(from: number, round: number, marks: Map<number, string>) {
  let token = 0;
  return player.rounds.slice(0, round).map((line, index) => {
    const kinds = line.brings.map((_, place) => marks.get(token + place));
    token += kinds.length;
    if (index < from) return null;
    if (kinds.some(Boolean)) return PastRound(line, index, kinds);
    const known = unmarked.get(line) ?? PastRound(line, index, []);
    unmarked.set(line, known);
    return known;
  });
}

function PastRound(line: RoundLine, index: number, marks: (string | undefined)[]) {
  const back = () => go(index, stepsOf(index) - 1);
  const last = line.brings.at(-1);
  const attributes = {
    key: index,
    class: classes("sv-done", last && breaksLine(last[0]) && "sv-ends-line"),
    role: "button" as const, // no button element: it must break where lines do
    title: "Round " + line.number + ": go back to where this token was decided",
    onClick: back,
    onKeyDown(event: KeyboardEvent) {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      back();
    },
  };
  const tokens = line.brings.flatMap((token, place) => PastToken(token, index, marks[place]));
  return <span {...attributes}>{tokens}</span>;
}

function PastToken(
  [pieces, kind, step]: RoundLine["brings"][number],
  index: number,
  mark?: string,
) {
  const blank = pieces.every((piece) => typeof piece === "object" && piece.g === "newline");
  const spaced = startsSpaced(pieces); // only the word is underlined
  const attributes = {
    class: classes("sv-h sv-" + kind, blank && "sv-only", mark && "sv-src sv-src-" + mark),
    onClick(event: MouseEvent) {
      event.stopPropagation();
      go(index, step); // to the step where this token was decided
    },
  };
  const shown = (
    <span {...attributes}>
      <span class="sv-w">{runningPieces(spaced ? pieces.slice(1) : pieces)}</span>
      {kind === "recovered" || kind === "bonus" ? Mark(kind) : null}
      {breaksLine(pieces) ? <br /> : null}
    </span>
  );
  return spaced ? [" ", shown] : [shown];
}

/** The prompt: raw text, or for each turn the typed text and the template's text around it. */
function Prompt({ prompt, turns }: RunLine, spans: Spans): ComponentChild {
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
    return (
      <span class={name} data-role={turn.role || undefined}>
        {parts}
      </span>
    );
  });
}

const WRITTEN: Record<
  TurnBlock["parts"][number]["is"],
  (text: string, begin: number, spans: Spans) => VNode
> = {
  special: (text, begin, spans) => Special(Marked(text, begin, spans)),
  typed: (...prose) => <span class="sv-typed">{Prose(...prose)}</span>,
  template: (text, begin, spans) => (
    <span class="sv-template" title="Written by the model's chat template, not typed">
      {Marked(text, begin, spans)}
    </span>
  ),
};

// The text without blank lines, which take no space; they are still in the page, but not shown.
function Prose(text: string, begin: number, spans: Spans) {
  let at = begin;
  return text.split(/(?<=\n)(\s*\n)/).map((piece, index) => {
    const shown = Marked(piece, at, spans);
    at += piece.length;
    return index % 2 ? <span class="sv-blank">{shown}</span> : shown;
  });
}

/** A piece of the prompt that begins at this character, with its marks. */
function Marked(text: string, begin: number, spans: Spans): ComponentChild {
  const end = begin + text.length;
  let done = 0;
  const parts = spans
    .filter(([from, to]) => from < end && to > begin)
    .flatMap(([from, to, kind]) => {
      const [start, stop] = [Math.max(from - begin, 0), Math.min(to - begin, text.length)];
      const before = text.slice(done, start);
      done = stop;
      return [before, <span class={"sv-src sv-src-" + kind}>{text.slice(start, stop)}</span>];
    });
  return parts.length ? [...parts, text.slice(done)] : text;
}
