// The section "Why these guesses": how the drafter found them, as a line of tokens, rows with bars,
// a table, or facts.

import { flat, percent } from "../shared/dom";
import { classes, Mark, Token } from "../shared/view";
import { SentencePart } from "./caption";

import type { Word } from "../../frames/scene.py";
import type {
  Block,
  Cell as GridCell,
  FactsBlock,
  GridBlock,
  GridRow,
} from "../../frames/evidence/forms.py";
import type { LineBlock, RowsBlock, Why } from "../../frames/evidence/forms.py";

/** @param empty Whether nothing was drafted. */
export const DrafterEvidence = (why: Why, empty: boolean) => [
  <div class="sv-why-head">
    <h3>{empty ? "Why no guess" : "Why these guesses"}</h3>
    <p>{why.say.map(SentencePart)}</p>
  </div>,
  ...why.blocks.map(Shown),
];

function Shown(block: Block) {
  if (block.as === "line") return Line(block);
  if (block.as === "rows") return Rows(block);
  if (block.as === "grid") return Grid(block);
  return Facts(block);
}

const Tok = (word: Word) => <span class="sv-tok">{Token(word)}</span>;

const More = (count: number | undefined) =>
  count ? <p class="sv-why-more">{"+" + count.toLocaleString("en") + " more"}</p> : null;

const ColumnHead = (name: string, columns?: number, split?: boolean) => (
  <th scope="col" colspan={columns} class={split ? "sv-split" : undefined}>
    {name}
  </th>
);

/** A line of neighbouring words in the text; words of one kind are marked together. */
const Line = (view: LineBlock) => (
  <div class="sv-why-line">
    <span class="sv-why-at">{view.label}</span>
    <span class="sv-why-words">
      {view.spans.map(({ is, words }) => (
        <span class={"sv-span sv-span-" + is}>{words.map(Tok)}</span>
      ))}
    </span>
  </div>
);

/** One row per guess: words, a bar, a number. */
function Rows(view: RowsBlock) {
  const barred = view.rows.some((row) => row.bar !== undefined);
  const last = view.heads.length - 1;
  const heads = view.heads.map((name, index) =>
    ColumnHead(name, barred && index === last ? 2 : undefined),
  );
  const lines = view.rows.map((row) => (
    <tr class={row.here ? "sv-why-here" : undefined}>
      <td class="sv-why-no">{row.at}</td>
      <td class="sv-why-path" title={row.words.map(flat).join("")}>
        {row.words.map(Tok)}
      </td>
      {barred ? (
        <td class="sv-why-track">
          <div>{Bar(row.bar || 0)}</div>
        </td>
      ) : null}
      <td class="sv-why-text">{row.text}</td>
    </tr>
  ));
  const table = (
    <table class="sv-why-rows">
      <thead>
        <tr>{heads}</tr>
      </thead>
      <tbody>{lines}</tbody>
    </table>
  );
  return (
    <div>
      {table}
      {More(view.more)}
    </div>
  );
}

const Bar = (length: number) => <i class="sv-why-bar" style={{ width: percent(length) }} />;

/**
 * A table. Columns are layers, heads, positions or steps; rows are guesses, states or rows of a
 * window.
 */
function Grid(view: GridBlock) {
  const kinds = [view.states && "sv-why-states", view.stacked && "sv-why-stacked"];
  const heads = view.heads.map((name, index) =>
    ColumnHead(name, undefined, Boolean(view.split) && index === view.split),
  );
  return (
    <div class="sv-why-box">
      <table class={classes("sv-why-grid", ...kinds)}>
        <thead>
          <tr>{heads}</tr>
        </thead>
        <tbody>{view.rows.map((row) => Row(row, view))}</tbody>
      </table>
      {More(view.more)}
      {view.note ? <p class="sv-why-more">{view.note}</p> : null}
      {view.keys ? <p class="sv-why-keys">{view.keys.map(Key)}</p> : null}
    </div>
  );
}

const Key = ([is, meaning]: [is: string, meaning: string]) => (
  <span>
    <i class={"sv-cellkey sv-cell-" + is} />
    {meaning}
  </span>
);

function Row(row: GridRow, { heads, split }: GridBlock) {
  const group = row.group && (
    <tr>
      <th class="sv-why-group" colspan={heads.length} scope="colgroup">
        {row.group}
      </th>
    </tr>
  );
  const label = (
    <th class="sv-why-label" scope="row" title={row.w && flat(row.w)}>
      {row.mark ? Mark(row.mark) : null}
      {row.w ? Token(row.w) : row.label}
    </th>
  );
  const cells = row.cells.map((cell, index) => Cell(cell, Boolean(split) && index + 1 === split));
  const tail = row.tail === undefined ? null : <td class="sv-why-tail">{row.tail}</td>;
  return [
    group,
    <tr>
      {label}
      {cells}
      {tail}
    </tr>,
  ];
}

const STATES = { on: "predicts it", off: "predicts another", none: "not run" };
const ORIGINS = { given: "", own: "guessed", guess: "", root: "last token" };

const Unseen = (text: string) => <span class="sv-unseen">{text}</span>;

function Cell({ w, n, s, is }: GridCell, split: boolean) {
  if (s)
    return (
      <td class={classes("sv-why-cell", split && "sv-split")}>
        <i class={"sv-cell sv-cell-" + s} />
        {Unseen(STATES[s])}
      </td>
    );
  return (
    <td
      class={classes("sv-why-word", is && "sv-why-" + is, split && "sv-split")}
      title={w && flat(w)}
    >
      {w ? Tok(w) : null}
      {n ? <span class="sv-why-n">{n}</span> : null}
      {is && ORIGINS[is] ? Unseen(ORIGINS[is]) : null}
    </td>
  );
}

const Facts = (view: FactsBlock) => (
  <p class="sv-why-facts">
    {view.facts.map(([name, value], index) => (
      <span class="sv-why-fact">
        {name + " "}
        <b>{value}</b>
        {view.w && index === 0 ? [" ", <b class="sv-tok">{Token(view.w)}</b>] : null}
      </span>
    ))}
  </p>
);
