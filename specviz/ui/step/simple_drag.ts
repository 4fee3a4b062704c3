// "What if" the big model, or the small one, gave a word another probability: the bars of a verdict
// can be dragged. The other named words share the rest in their old proportions. The row "others"
// stays as it is: its min(p, q) is a sum over words that are not shown.

import { raisedBy } from "../shared/drag";
import { moved } from "../shared/probability_bars";
import { pause } from "./playback";
import { apportioned, dividing, percentText } from "./percents";
import { LEAST, lettersOf } from "./simple_bars";
import { go, player, suppose } from "./state";
import { sum } from "./simple_times";

import type { TossedPanel } from "../../frames/inspector.py";
import type { Part } from "../../texts/__init__.py";
import type { LabelledRow } from "./simple_rows";

type Whose = "p" | "q";
/** p and q by row, in the order of the picture. */
export type MovedBars = { p: number[]; q: number[]; at: number };

const EXACT = 1e-6;
const STRIDES: Partial<Record<string, number>> = {
  ArrowDown: -0.01,
  ArrowUp: 0.01,
  PageDown: -0.1,
  PageUp: 0.1,
};

/** Return whether the verdict is by p ÷ q, so that other probabilities have a known effect. */
export function canMove({ p, q, labels, coin, whatif }: TossedPanel) {
  const { settings, lossless } = player.run ?? {};
  return (
    Boolean(whatif && coin && settings && lossless) &&
    settings?.rule === "auto" &&
    q !== undefined &&
    !labels.left.length &&
    Math.abs(coin.threshold - Math.min(1, p / q)) < EXACT
  );
}

/** Return rows with the probabilities that the reader has set; the rows themselves before that. */
export function movedRows(rows: LabelledRow[]): LabelledRow[] {
  const bars = player.whatIf?.bars;
  if (bars?.p.length !== rows.length) return rows;
  const set = rows.map((row, at) => {
    if (!row.w) return row;
    const [p, q] = [bars.p[at], bars.q[at]];
    const both = Math.min(p, q);
    return { ...row, p, q, both, over: q - both, miss: p - both };
  });
  const guess = set.find(({ is }) => is === "trial");
  const [ofP, ofQ] = guess ? dividing(guess.p, guess.q) : [];
  const texts = (name: "p" | "q", ofGuess?: string) =>
    apportioned(
      set.map((row) => ({
        value: row[name],
        text: row.is === "trial" ? ofGuess : row.w ? undefined : row[`${name}Text`],
      })),
    );
  const [p, q] = [texts("p", ofP), texts("q", ofQ)];
  return set.map((row, at) => ({ ...row, pText: p[at], qText: q[at] }));
}

/** Return the acceptance probability of the guess with these rows. */
export function thresholdOf(rows: LabelledRow[]) {
  const guess = rows.find(({ is }) => is === "trial");
  return guess && guess.q > 0 ? Math.min(1, guess.p / guess.q) : 1;
}

/** Suppose that a word has another probability. */
function moveBar(panel: TossedPanel, rows: LabelledRow[], at: number, whose: Whose, to: number) {
  const now = movedRows(rows);
  const named = now.filter(({ w }) => w).map((row) => row[whose]);
  const whole = sum(named);
  if (!now[at].w || named.length < 2 || whole <= 0) return;
  const index = now.slice(0, at).filter(({ w }) => w).length;
  const limit = Math.max(...rows.map(({ p, q }) => Math.max(p, q)), LEAST);
  const value = Math.min(Math.max(to, 0), whole, limit) / whole;
  const shared = moved(
    named.map((each) => each / whole),
    index,
    value,
  );
  let next = 0;
  const set = now.map((row) => (row.w ? shared[next++] * whole : row[whose]));
  const other = whose === "p" ? "q" : "p";
  const kept = now.map((row) => row[other]);
  const bars = whose === "p" ? { p: set, q: kept, at } : { p: kept, q: set, at };
  tell(panel, rows, bars, whose);
}

function tell(panel: TossedPanel, rows: LabelledRow[], bars: MovedBars, whose: Whose) {
  player.whatIf = { parts: [], coins: null, bars };
  const now = movedRows(rows);
  const threshold = thresholdOf(now);
  const kept = panel.coin.u < threshold;
  const who = whose === "p" ? "big" : "small";
  const { w, pText, qText } = now[bars.at];
  const parts: (Part | string)[] = [
    `If the ${who} model said `,
    w ? { w } : "",
    ` ${whose === "p" ? pText : qText} of the time, `,
    { w: panel.w },
    ` would be kept with probability ${percentText(threshold)}: this coin would say `,
    kept ? "yes. " : "no. ",
    `${percentText(sum(now.map(({ miss }) => miss)))} would be missing, and replaced.`,
  ];
  const is = kept ? "accepted" : "rejected";
  suppose({
    parts: parts.filter(Boolean) as Part[],
    coins: null,
    bars,
    is: kept === panel.accepted ? undefined : is,
  });
}

type Held = { at: number; whose: Whose; from: number; start: PointerEvent; unit: number };

/** The bar that is being dragged. Movement is relative, since the sentence above may grow. */
let held: Held | null = null;

/**
 * Return the attributes with which the bars are dragged, or moved by keys: up and down change a
 * probability, left and right choose the word.
 */
export function barControls(panel: TossedPanel, rows: LabelledRow[], unit: number) {
  const chosen =
    player.whatIf?.bars?.at ??
    Math.max(
      0,
      rows.findIndex(({ is }) => is === "trial"),
    );
  const now = movedRows(rows);
  const word = now[chosen];
  return {
    role: "slider" as const,
    tabindex: 0,
    title: "Drag a bar: what if this word had another probability?",
    "aria-orientation": "vertical" as const,
    "aria-valuemin": 0,
    "aria-valuemax": 100,
    "aria-valuenow": Math.round(100 * word.p),
    "aria-valuetext": `${lettersOf(word.w ?? [])} ${word.pText}`,
    onPointerDown(event: PointerEvent & { currentTarget: HTMLElement }) {
      const plots = [...event.currentTarget.querySelectorAll(".sv-col-plot")];
      const at = plots.findIndex((plot) => plot.parentElement?.contains(event.target as Node));
      if (at < 0 || !now[at].w) return;
      event.preventDefault();
      pause();
      event.currentTarget.setPointerCapture(event.pointerId);
      const { bottom, height } = plots[at].getBoundingClientRect();
      const place = (((bottom - event.clientY) / height) * 100) / unit;
      const { is, p, q } = now[at];
      const whose = is === "trial" && Math.abs(place - q) < Math.abs(place - p) ? "q" : "p";
      held = { at, whose, from: now[at][whose], start: event, unit: 100 / unit / height };
    },
    onPointerMove(event: PointerEvent & { currentTarget: HTMLElement }) {
      if (!held || !event.currentTarget.hasPointerCapture(event.pointerId)) return;
      const { at, whose, from, start } = held;
      moveBar(panel, rows, at, whose, from + raisedBy(start, event) * held.unit);
    },
    onKeyDown(event: KeyboardEvent) {
      const by = STRIDES[event.key];
      const turn = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      if (event.key === "Escape") go(player.at.round, player.at.step);
      else if (by) moveBar(panel, rows, chosen, "p", word.p + by);
      else if (turn) choose(panel, rows, chosen + turn);
      else return;
      event.preventDefault();
      event.stopPropagation();
    },
  };
}

function choose(panel: TossedPanel, rows: LabelledRow[], at: number) {
  if (rows[at]?.w) moveBar(panel, rows, at, "p", movedRows(rows)[at].p);
}
