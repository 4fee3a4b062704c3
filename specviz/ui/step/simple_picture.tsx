// The one picture of a step in the Simple mode.

import { flat } from "../shared/dom";
import { classes, render, RunningToken } from "../shared/view";
import { momentKey } from "./cursor";
import { Swatch } from "./legend";
import { reel } from "./reel";
import { widthOf } from "./room";
import { Bars } from "./simple_bars";
import { DrawCoin, GuessCoin, HiddenGuessCoin } from "./simple_coin";
import { shareRows, tableRows } from "./simple_rows";
import { duration, medianPass } from "./simple_times";
import { $ } from "./stage";

import type { ComponentChild } from "preact";
import type { DrawnFrame as Frame } from "../../figures/charts.py";
import type { TrialPanel } from "../../frames/inspector.py";
import type { Table } from "../../frames/table.py";

export function showPicture(frame: Frame, round: number) {
  render(
    <div key={momentKey()} class={"sv-picture-in sv-picture-" + frame.step.kind}>
      {Picture(frame, round)}
    </div>,
    $(".sv-picture"),
  );
}

function Picture(frame: Frame, round: number): ComponentChild {
  const { kind } = frame.step;
  if (kind === "propose") return Guesses(frame, false);
  if (kind === "score") return [Pass(frame, round), Mask(frame)];
  if (kind === "judge") return Verdict(frame);
  if (kind === "draw") return Replacement(frame);
  return null;
}

// As many words as fit; the others are summed.
const most = () => (widthOf("player") < 560 ? 5 : widthOf("player") < 900 ? 6 : 7);

function Verdict({ panel }: Frame) {
  if (panel.kind !== "trial") return null;
  const { table } = panel;
  if (!table) return Coin(panel);
  const greedy = !("coin" in panel) && !("asked" in panel);
  const texts = greedy || !("text" in panel) ? {} : (panel.text as Record<string, string>);
  const sampled = panel.q !== undefined;
  const rows = tableRows(table, { p: texts.p, q: texts.q }, most(), sampled);
  if (greedy) return [Figure(Bars(rows, "p"), Keys(["outline"])), null];
  return [Figure(Bars(rows, "parts"), Keys(partKeys(table, sampled))), Coin(panel)];
}

const Coin = (panel: TrialPanel) => {
  if (panel.asked) return HiddenGuessCoin();
  return panel.coin ? GuessCoin(panel) : null;
};

function partKeys(table: Table, sampled: boolean) {
  const rejected = table.full;
  return [
    "outline",
    "both",
    ...(rejected ? ["miss"] : []),
    ...(sampled && rejected ? ["over"] : []),
  ];
}

function Replacement({ panel, caption, pass }: Frame) {
  const draw = "draw" in panel ? panel.draw : undefined;
  if (panel.kind !== "trial" || !panel.table) {
    if (!draw) return FirstChoices(pass);
    const rows = shareRows(draw.shares, most());
    return [
      Figure(Bars(rows, "p"), Keys(["outline"])),
      DrawCoin(draw, "A coin draws the word", "p"),
    ];
  }
  const rows = tableRows(panel.table, {}, most(), panel.q !== undefined);
  if (!draw) return [Figure(Bars(rows, "p"), Keys(["outline"])), null];
  const mass = caption.simple?.find((part) => typeof part !== "string" && part.as === "residual");
  return [
    Figure(Bars(rows, "missing"), Keys(["outline", "both", "scaled"])),
    <div>
      {typeof mass === "object" && mass.n ? Balance(mass.n) : null}
      {DrawCoin(draw, "A new coin draws one of them", "r")}
    </div>,
  ];
}

/** At temperature 0 nothing is drawn: the first choice has all the probability. */
function FirstChoices(pass: Frame["pass"]) {
  const used = pass?.columns?.filter(({ use, node }) => use === "used" && !node);
  const top = used?.at(-1)?.top ?? [];
  if (!top.length) return null;
  const shares = top.map(([w, m]) => ({ w, m }));
  return Figure(Bars(shareRows(shares, most()), "p"), Keys(["first"]));
}

/** What is discarded and what is missing, which are equal. */
const Balance = (mass: string) => (
  <p class="sv-balance">
    <span>
      <i class="sv-sw sv-sw-over" />
      {"discarded "}
      <b>{mass}</b>
    </span>
    {" = "}
    <span>
      {Swatch("r")}
      {"missing "}
      <b>{mass}</b>
    </span>
  </p>
);

const Figure = (bars: ComponentChild, keys: ComponentChild) => (
  <div class="sv-picture-main">
    {bars}
    {keys}
  </div>
);

const KEYS: Record<string, [sign: ComponentChild, text: string]> = {
  outline: [<i class="sv-sw sv-sw-outline" />, "how often the big model says it"],
  first: [<i class="sv-sw sv-sw-outline" />, "the big model’s first choice"],
  both: [Swatch("b"), "kept as a guess"],
  miss: [Swatch("r"), "still missing"],
  over: [<i class="sv-sw sv-sw-over" />, "guessed too often"],
  scaled: [Swatch("r"), "missing, scaled to 100 %"],
};

const Keys = (names: string[]) => (
  <p class="sv-picture-keys">
    {names.map((name) => (
      <span key={name}>{KEYS[name]}</span>
    ))}
  </p>
);

/** The guessed words, by position. */
function Guesses({ tree, caption }: Frame, riding: boolean) {
  const nodes = Object.entries(tree.nodes);
  if (!nodes.length)
    return <p class="sv-picture-none">{caption.is === "propose" ? "no guess" : ""}</p>;
  const deepest = Math.max(...nodes.map(([, { depth }]) => depth));
  const columns = Array.from({ length: deepest }, (_, at) =>
    nodes.filter(([, { depth }]) => depth === at + 1),
  );
  // The pass also reads the last word of the text, whose next word it predicts.
  const root = riding ? (
    <li key="root">
      <span class="sv-ahead-word sv-ahead-root">{RunningToken(tree.root)}</span>
    </li>
  ) : null;
  return (
    <ol class={classes("sv-ahead-words", riding && "sv-riding")}>
      {root}
      {columns.map((column, at) => (
        <li key={at}>
          {column.slice(0, TALLEST).map(([id, { w, q }]) => (
            <span key={id} class="sv-ahead-word">
              {RunningToken(w)}
              {q === undefined || riding ? null : <small>{wholePercent(q)}</small>}
            </span>
          ))}
          {column.length > TALLEST ? <small>{"+" + (column.length - TALLEST)}</small> : null}
        </li>
      ))}
    </ol>
  );
}

const TALLEST = 4; // guesses that are shown of one position

const wholePercent = (q: number) => (q > 0 && q < 0.005 ? "< 1 %" : Math.round(100 * q) + " %");

/** One pass: the weights are read once, and all positions ride along; and the two times of this run. */
function Pass(frame: Frame, round: number) {
  const guesses = Object.keys(frame.tree.nodes).length;
  const [, seconds] = reel.rounds[round].seconds;
  const plain = medianPass();
  const longest = Math.max(seconds, plain ?? 0);
  return (
    <div class="sv-picture-main">
      <div class="sv-weights">
        <div class="sv-weights-box">
          <i />
          <span>the big model’s weights, read once</span>
        </div>
        {Guesses(frame, true)}
      </div>
      <div class="sv-two-times">
        {TimeBar(guesses + 1, seconds, longest)}
        {plain === null ? null : TimeBar(1, plain, longest)}
      </div>
    </div>
  );
}

const TimeBar = (positions: number, seconds: number, longest: number) => (
  <p>
    <span>{positions === 1 ? "1 position" : positions + " positions"}</span>
    <i style={{ width: ((60 * seconds) / longest).toFixed(2) + "%" }} />
    <b>{duration(seconds)}</b>
  </p>
);

const WIDEST = 7; // words of the mask

/** Why one pass gives the same p as one pass per word: no position sees a later one. */
function Mask({ tree }: Frame) {
  const nodes = Object.values(tree.nodes);
  const chain = nodes.length > 0 && nodes.every(({ depth }, at) => depth === at + 1);
  if (!chain || nodes.length > WIDEST) return null;
  const words = [tree.root, ...nodes.map(({ w }) => w)];
  return (
    <div class="sv-mask">
      <p>
        {"Each word sees only the words before it, so one pass gives the same as "}
        {words.length}
        {" passes:"}
      </p>
      <div
        class="sv-mask-grid"
        role="img"
        aria-label="Attention mask: each word sees itself and the words before it"
      >
        {words.map((word, row) => (
          <div key={row} aria-hidden="true">
            <span class="sv-mask-word">{flat(word).replaceAll("␣", "")}</span>
            {words.map((_, column) => (
              <i key={column} class={column <= row ? "sv-sees" : ""} />
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}
