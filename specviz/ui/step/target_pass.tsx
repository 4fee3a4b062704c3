// One target pass: a column per position with the target's most probable tokens. All arrive
// together when the guesses are scored, and each is highlighted when it has decided something. The
// style sheet shows this if there is space under the tree.

import { flat, percent } from "../shared/dom";
import { classes, Mark, render, Token } from "../shared/view";
import { SentencePart } from "./caption";
import { linkAttributes } from "./hover_links";
import { $, stage } from "./stage";

import type { Word } from "../../frames/scene.py";
import type { PassColumn, TargetPass as Pass } from "../../frames/target_pass.py";

export function showTargetPass(pass: Pass | undefined) {
  const place = $(".sv-pass");
  place.hidden = !pass;
  if (!pass) return;
  render(TargetPass(pass.say, pass.columns ?? []), place);
}

// If the columns are wider than the window, scroll to the position that decides.
export function scrollTargetPass() {
  const box = stage.find(":is(.sv-slim, .sv-tight) .sv-pass-columns");
  if (!box) return;
  const columns = [...box.children] as HTMLElement[];
  const here = columns.findIndex((each) => each.matches(".sv-pass-here"));
  const first = columns[Math.max(0, here - 2)];
  box.scrollLeft = first ? first.offsetLeft - columns[0].offsetLeft : 0;
}

function TargetPass(say: Pass["say"], columns: PassColumn[]) {
  // On a narrow page the columns can be scrolled, also by keys.
  const tabIndex = $(".sv").matches(".sv-slim, .sv-tight") ? 0 : undefined;
  return [
    <div class="sv-pass-head">
      <h2>One target pass</h2>
      <p class="sv-pass-say">{say.map(SentencePart)}</p>
    </div>,
    <ol class="sv-pass-columns" tabIndex={tabIndex}>
      {columns.map(PositionColumn)}
    </ol>,
  ];
}

function PositionColumn(view: PassColumn) {
  const attributes = {
    key: view.at,
    class: classes("sv-pass-column", view.here && "sv-pass-here"),
    "data-use": view.use,
    ...(view.node && view.w ? linkAttributes("node " + view.node, "word " + flat(view.w)) : {}),
  };
  const sign = view.is && view.use === "used" ? Mark(view.is) : null;
  return (
    <li {...attributes}>
      <span class="sv-unseen">{view.label}</span>
      {/* says it in order */}
      <div aria-hidden="true">
        <span class="sv-pass-at">
          {"+" + view.at}
          {sign}
          {LostBonus(view)}
        </span>
        {likeliest(view)}
      </div>
    </li>
  );
}

/** After every guess comes the bonus, unless one is rejected. */
const LostBonus = ({ use, w }: PassColumn) =>
  use === "unused" && !w ? <span class="sv-pass-lost">no bonus</span> : null;

function likeliest({ top, w, rank, p }: PassColumn) {
  if (!top) return <span class="sv-pass-hidden">after the verdict</span>;
  const rows = top.map(([pieces, mass, text], index) =>
    TokenRow(pieces, mass, text, index === rank),
  );
  if (w && p) rows.push(TokenRow(w, p[0], p[1], rank === top.length));
  return rows;
}

const TokenRow = (pieces: Word, mass: number, text: string, guessed: boolean) => (
  <div class={classes("sv-pass-row", guessed && "sv-pass-guess")} title={flat(pieces) + " " + text}>
    <span class="sv-pass-w">{Token(pieces)}</span>
    <b>{text}</b>
    <i class="sv-pass-bar" style={{ width: percent(mass) }} />
  </div>
);
