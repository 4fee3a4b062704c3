// The one picture of a step in the Simple mode.

import { dragsSideways } from "../shared/drag";
import { Mark, render, Swatch } from "../shared/view";
import { decimalsOf, percentOf } from "./percents";
import { momentKey, player } from "./state";
import { widthOf } from "./room";
import { Bars, unitOf } from "./simple_bars";
import { DrawCoin, GuessCoin, HiddenGuessCoin } from "./coin";
import { barControls, canMove, movedRows, thresholdOf } from "./simple_drag";
import { Guesses } from "./simple_guesses";
import { Mask, Pass } from "./simple_pass";
import { End, Result } from "./simple_result";
import { shareRows, tableRows } from "./simple_rows";
import { sum } from "./simple_times";
import { $ } from "./stage";

import type { ComponentChild } from "preact";
import type { DrawnFrame as Frame } from "../../figures/frame.py";
import type { TokenState } from "../../frames/scene.py";
import type { Chip } from "../../frames/tree.py";
import type { TossedPanel, TrialPanel } from "../../frames/inspector.py";
import type { Part } from "../../texts/__init__.py";
import type { LabelledRow, Said } from "./simple_rows";

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
  if (kind === "propose") return Guesses(frame);
  if (kind === "score") return [Pass(frame, round), Mask(frame.tree)];
  if (kind === "judge") return Verdict(frame);
  if (kind === "draw") return Replacement(frame);
  return kind === "commit" ? Result(round) : End();
}

// As many words as fit; the others are summed.
const most = () => (widthOf("player") < 560 ? 5 : widthOf("player") < 900 ? 6 : 7);

/** Return the percentages in a sentence; of a rule that has no p and q, those of its panel. */
function saidIn(parts: Part[], text?: Readonly<Record<string, string>>): Said {
  const find = (as: keyof Said) =>
    parts.map((part) => typeof part === "object" && part.as === as && part.n).find(Boolean) || "";
  const found = { p: find("p"), q: find("q"), residual: find("residual") };
  if (!text || (found.p && found.q)) return found;
  return { ...found, p: text.p && percentOf(text.p), q: text.q && percentOf(text.q) };
}

/** Return the percentages of the guess that the replacement is for, as its verdict says them. */
function saidOfGuess(): Said {
  const { frames } = player.rounds[player.at.round];
  const verdict = frames.filter(({ step }) => step.kind === "judge").at(-1);
  return saidIn(verdict?.caption.simple ?? []);
}

function Verdict({ panel, caption, chips }: Frame) {
  if (panel.kind !== "trial") return null;
  const { table } = panel;
  if (!table) return Coin(panel);
  const greedy = !("coin" in panel) && !("asked" in panel);
  const said = greedy ? {} : saidIn(caption.simple ?? [], panel.text);
  const sampled = panel.q !== undefined;
  const rows = tableRows(table, said, most(), sampled);
  if (greedy) return [Figure(Bars(rows, "p"), Keys(["outline"], chips)), null];
  if (!panel.coin || !canMove(panel))
    return [Figure(Bars(rows, "parts"), Keys(partKeys(rows, sampled), chips)), Coin(panel)];
  return MovableBars(panel, rows, chips);
}

function MovableBars(panel: TossedPanel, rows: LabelledRow[], chips: Chip[]) {
  const unit = unitOf(rows, "parts");
  const now = movedRows(rows);
  const keys = Keys(partKeys(now, true), chips, `${dragsSideways() ? "↔" : "↕"} Drag a bar`);
  const bars = Bars(now, "parts", unit, barControls(panel, rows, unit));
  const threshold = player.whatIf?.bars ? thresholdOf(now) : null;
  return [Figure(bars, keys), threshold === null ? Coin(panel) : GuessCoin(panel, threshold)];
}

const Coin = (panel: TrialPanel) => {
  if (panel.asked) return HiddenGuessCoin();
  return panel.coin ? GuessCoin(panel) : null;
};

const VISIBLE = 0.004; // the least part of a bar that can be seen

/** @param sampled Whether the guess was sampled; otherwise other words were not guessed at all. */
const partKeys = (rows: LabelledRow[], sampled: boolean) => [
  "outline",
  "both",
  ...(rows.some(({ miss }) => miss > VISIBLE) ? [sampled ? "miss" : "missing"] : []),
  ...(rows.some(({ over }) => over > VISIBLE) ? ["over"] : []),
];

function Replacement({ panel, caption, pass, chips }: Frame) {
  const draw = "draw" in panel ? panel.draw : undefined;
  if (panel.kind !== "trial" || !panel.table) {
    if (!draw) return FirstChoices(pass, chips);
    const rows = shareRows(draw.shares, most());
    return [
      Figure(Bars(rows, "p"), Keys(["outline"], chips)),
      DrawCoin(draw, "The word is drawn at random", "p", null, rows),
    ];
  }
  const missing = saidIn(caption.simple ?? []).residual;
  const said = { ...saidOfGuess(), residual: missing };
  const sampled = panel.q !== undefined;
  const rows = tableRows(panel.table, said, most(), sampled);
  if (!draw) return [Figure(Bars(rows, "p"), Keys(["outline"], chips)), null];
  const keys = missing ? ["outline", "both"] : partKeys(rows, sampled); // the balance has the others
  const title = missing ? `Drawn at random from the missing ${missing}` : "Drawn at random";
  return [
    Figure(Bars(rows, "missing"), Keys(keys, chips)),
    <div>
      {missing ? Balance(missing, sampled ? rows : null) : null}
      {DrawCoin(draw, title, "r", null, rows)}
    </div>,
  ];
}

/** At temperature 0 nothing is drawn: the first choice has all the probability. */
function FirstChoices(pass: Frame["pass"], chips: Chip[]) {
  const used = pass?.columns?.filter(({ use, node }) => use === "used" && !node);
  const top = used?.at(-1)?.top ?? [];
  if (!top.length) return null;
  const shares = top.map(([w, m]) => ({ w, m }));
  return Figure(Bars(shareRows(shares, most()), "p"), Keys(["first"], chips));
}

/**
 * What is discarded and what is missing, which are equal.
 * @param sampled The bars if the guess was sampled: then they show what is discarded.
 */
function Balance(mass: string, sampled: LabelledRow[] | null) {
  const added = terms(sampled ?? [], mass);
  return (
    <p class="sv-balance">
      <span>
        {sampled ? KEYS.over : "discarded"} <b>{mass}</b>{" "}
        {added ? <span class="sv-balance-terms">{added}</span> : null}
        {" ="}
      </span>
      <span>
        {sampled ? KEYS.miss : KEYS.missing} <b>{mass}</b>
      </span>
    </p>
  );
}

/** Return "(21 + 1)" if the discarded parts on screen add up to their sum in this way. */
function terms(rows: LabelledRow[], mass: string) {
  const parts = rows.filter(({ over }) => over > 0).map(({ overText }) => parseFloat(overText));
  const decimals = 10 ** decimalsOf(mass);
  const adds = Math.round(decimals * sum(parts)) === Math.round(decimals * parseFloat(mass));
  return adds && (parts.length === 2 || parts.length === 3) ? `(${parts.join(" + ")})` : "";
}

const Figure = (bars: ComponentChild, keys: ComponentChild) => (
  <div class="sv-picture-main">
    {bars}
    {keys}
  </div>
);

const KEYS: Record<string, [sign: ComponentChild, text: string]> = {
  outline: [<i class="sv-sw sv-sw-outline" />, "how often the big model says it"],
  first: [<i class="sv-sw sv-sw-outline" />, "the big model’s first choice"],
  both: [Swatch("b"), "kept if guessed"],
  miss: [Swatch("r"), "guessed too rarely"],
  missing: [Swatch("r"), "missing"],
  over: [<i class="sv-sw sv-sw-over" />, "guessed too often"],
  unreached: [<i class="sv-chip sv-unreached">{Mark("unreached")}</i>, "no longer fits the text"],
};

const isFirstLost = (is: TokenState, at: number, all: TokenState[]) =>
  is === "unreached" && all.indexOf(is) === at;

const Keys = (names: string[], chips: Chip[], hint?: string) => (
  <p class="sv-picture-keys">
    {[...names, ...chips.map(({ is }) => is).filter(isFirstLost)].map((name) => (
      <span key={name}>{KEYS[name]}</span>
    ))}
    {hint ? <span>{hint}</span> : null}
  </p>
);
