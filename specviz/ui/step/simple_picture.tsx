// The one picture of a step in the Simple mode.

import { dragsSideways } from "../shared/drag";
import { render } from "../shared/view";
import { momentKey, player } from "./state";
import { Swatch } from "./legend";
import { widthOf } from "./room";
import { Bars, unitOf } from "./simple_bars";
import { DrawCoin, GuessCoin, HiddenGuessCoin } from "./simple_coin";
import { barControls, canMove, movedRows, thresholdOf } from "./simple_drag";
import { Guesses } from "./simple_guesses";
import { Mask, Pass } from "./simple_pass";
import { End, Result } from "./simple_result";
import { shareRows, tableRows } from "./simple_rows";
import { $ } from "./stage";

import type { ComponentChild } from "preact";
import type { DrawnFrame as Frame } from "../../figures/charts.py";
import type { TossedPanel, TrialPanel } from "../../frames/inspector.py";
import type { LabelledRow } from "./simple_rows";

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

function Verdict({ panel }: Frame) {
  if (panel.kind !== "trial") return null;
  const { table } = panel;
  if (!table) return Coin(panel);
  const greedy = !("coin" in panel) && !("asked" in panel);
  const texts = greedy || !("text" in panel) ? {} : (panel.text as Record<string, string>);
  const sampled = panel.q !== undefined;
  const rows = tableRows(table, { p: texts.p, q: texts.q }, most(), sampled);
  if (greedy) return [Figure(Bars(rows, "p"), Keys(["outline"])), null];
  if (!panel.coin || !canMove(panel))
    return [Figure(Bars(rows, "parts"), Keys(partKeys(rows))), Coin(panel)];
  return MovableBars(panel, rows);
}

function MovableBars(panel: TossedPanel, rows: LabelledRow[]) {
  const unit = unitOf(rows, "parts");
  const now = movedRows(rows);
  const keys = Keys(partKeys(now), `${dragsSideways() ? "↔" : "↕"} Drag a bar`);
  const bars = Bars(now, "parts", unit, barControls(panel, rows, unit));
  const threshold = player.whatIf?.bars ? thresholdOf(now) : null;
  return [Figure(bars, keys), threshold === null ? Coin(panel) : GuessCoin(panel, threshold)];
}

const Coin = (panel: TrialPanel) => {
  if (panel.asked) return HiddenGuessCoin();
  return panel.coin ? GuessCoin(panel) : null;
};

const partKeys = (rows: LabelledRow[]) => [
  "outline",
  "both",
  ...(rows.some(({ miss }) => miss > 0) ? ["miss"] : []),
  ...(rows.some(({ is, over }) => is === "trial" && over > 0) ? ["over"] : []),
];

function Replacement({ panel, caption, pass }: Frame) {
  const draw = "draw" in panel ? panel.draw : undefined;
  if (panel.kind !== "trial" || !panel.table) {
    if (!draw) return FirstChoices(pass);
    const rows = shareRows(draw.shares, most());
    return [
      Figure(Bars(rows, "p"), Keys(["outline"])),
      DrawCoin(draw, "A coin draws the word", "p", rows),
    ];
  }
  const rows = tableRows(panel.table, {}, most(), panel.q !== undefined);
  if (!draw) return [Figure(Bars(rows, "p"), Keys(["outline"])), null];
  const mass = caption.simple?.find((part) => typeof part !== "string" && part.as === "residual");
  const missing = typeof mass === "object" ? mass.n : undefined;
  const title = missing ? `A coin draws from the missing ${missing}` : "A coin draws one of them";
  return [
    Figure(Bars(rows, "missing"), Keys(["outline", "both", "miss"])),
    <div>
      {missing ? Balance(missing, panel.q !== undefined) : null}
      {DrawCoin(draw, title, "r", rows)}
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

/** What is discarded and what is missing, which are equal. Only a sampled guess has a sign for it. */
const Balance = (mass: string, sampled: boolean) => (
  <p class="sv-balance">
    <span>
      {sampled ? <i class="sv-sw sv-sw-over" /> : null}
      {"discarded "}
      <b>{mass}</b>
      {" ="}
    </span>
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
};

const Keys = (names: string[], hint?: string) => (
  <p class="sv-picture-keys">
    {names.map((name) => (
      <span key={name}>{KEYS[name]}</span>
    ))}
    {hint ? <span>{hint}</span> : null}
  </p>
);
