// The random number u (the coin) on the bar of the acceptance probability. At a verdict, the reader
// can move it with the pointer or with keys to see what another value would do (what_if.tsx).

import { percent } from "../shared/dom";
import { classes, termAttributes } from "../shared/view";
import { branch } from "./branch";
import { go, player } from "./state";
import { linkAttributes } from "./hover_links";
import { pause } from "./playback";
import { widthOf } from "./room";
import { moveCoin, moveDraw, WhatIfSentence } from "./what_if";

import type { TossedPanel } from "../../frames/inspector.py";
import type { Share } from "../../frames/draw.py";
import type { WhatIf } from "../../frames/whatif.py";
/** A part of the bar; the whole bar is from 0 to 1. */
export type Stretch = [from: number, to: number];

export const trackWidth = () => Math.max(widthOf("panel") - 71, 200);

export function CoinBar(panel: TossedPanel) {
  const moved = player.whatIf?.coin;
  const { u, text } = moved ?? { u: panel.coin.u, text: panel.text.u };
  const hint = panel.whatif ? <span class="sv-hint-drag">↔ what if?</span> : null;
  const whatIf = player.whatIf ? WhatIfSentence(player.whatIf) : null;
  return (
    <div class="sv-cr sv-cr-coin">
      <span class="sv-l">coin u{hint}</span>
      <div>
        {Bar(panel, u, moved?.text ?? String(u))}
        {Ticks(panel, u, text)}
        {/* On a narrow page, the caption is out of view while the coin is moved, so it is repeated here. */}
        <p class="sv-echo" role="status">
          {whatIf}
        </p>
      </div>
    </div>
  );
}

export const HiddenCoin = () => (
  <div class="sv-cr sv-cr-coin">
    <span class="sv-l">coin u</span>
    <div>
      <div class="sv-coin sv-coin-to-come">hidden until you answer</div>
      <div class="sv-ticks" />
    </div>
  </div>
);

function Bar(panel: TossedPanel, u: number, spoken: string) {
  const { coin, whatif } = panel;
  const { threshold } = coin;
  const was = <i class="sv-pin sv-pin-was" style={{ left: percent(coin.u) }} />;
  const controls = whatif && coinControls(panel, whatif, u, spoken);
  return (
    <div class={classes("sv-coin", whatif && "sv-movable")} {...controls?.track}>
      <span class="sv-keep" style={{ width: percent(threshold) }} {...linkAttributes("both")} />
      {threshold < 1 ? <span class="sv-no" /> : null}
      {Sides(threshold, u)}
      {player.whatIf?.coin ? was : null}
      <i class="sv-pin" style={{ left: percent(u) }} {...linkAttributes("u")} {...controls?.pin} />
    </div>
  );
}

/** @param move Called with the position of the pointer on the bar. */
function dragging(move: (u: number) => void) {
  const follow = ({ clientX, currentTarget }: PointerEvent & { currentTarget: HTMLElement }) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    move((clientX - left) / width);
  };
  return {
    title: "Drag the coin: what if it had another value?",
    onPointerDown(event: PointerEvent & { currentTarget: HTMLElement }) {
      event.preventDefault(); // otherwise arrow keys would move the coin instead of stepping
      pause();
      event.currentTarget.setPointerCapture(event.pointerId);
      follow(event);
    },
    onPointerMove(event: PointerEvent & { currentTarget: HTMLElement }) {
      if (event.currentTarget.hasPointerCapture(event.pointerId)) follow(event);
    },
  };
}

const STRIDES: Partial<Record<string, number>> = {
  ArrowLeft: -0.01,
  ArrowDown: -0.01,
  ArrowRight: 0.01,
  ArrowUp: 0.01,
  PageDown: -0.1,
  PageUp: 0.1,
  Home: -1,
  End: 1,
};

/** Attributes that let keys move the coin: arrows move it, Enter runs it, Escape restores it. */
const sliderAttributes = (move: (u: number) => void, u: number, spoken: string, label: string) => ({
  role: "slider" as const,
  tabindex: 0,
  "aria-valuemin": 0,
  "aria-valuemax": 1,
  "aria-valuenow": spoken as unknown as number,
  "aria-label": label,
  onKeyDown(event: KeyboardEvent) {
    const by = STRIDES[event.key];
    if (event.key === "Enter" && player.whatIf?.coins) branch();
    else if (event.key === "Escape") go(player.at.round, player.at.step);
    else if (by) move(u + by);
    else return;
    event.preventDefault();
    event.stopPropagation();
  },
});

/** Return the attributes with which the coin of a verdict is moved: of its bar, and of its pin. */
export function coinControls(
  panel: TossedPanel,
  whatif: WhatIf,
  u: number,
  spoken: string = String(u),
) {
  const move = (to: number) => moveCoin(to, panel, whatif);
  const label = "Coin: arrow keys move it, Enter runs from here, Escape goes back";
  return { track: dragging(move), pin: sliderAttributes(move, u, spoken, label) };
}

/** Return the attributes with which the coin that draws a word is moved. */
export function drawControls(shares: Share[], u: number) {
  const move = (to: number) => moveDraw(to, shares);
  const label = "Coin of the draw: arrow keys move it, Escape goes back";
  return { track: dragging(move), pin: sliderAttributes(move, u, String(u), label) };
}

/** Return the wider part of a stretch that the pin divides; `pin` is half its width. */
export function widest([from, to]: Stretch, u: number, pin: number): Stretch {
  if (u <= from - pin || u >= to + pin) return [from, to];
  return u - pin - from > to - u - pin ? [from, u - pin] : [u + pin, to];
}

/** The words on the bar, each on its side of the threshold, where there is most space. */
function Sides(threshold: number, u: number) {
  const pin = 11 / trackWidth();
  return [
    Side("keep", "accept", widest([0, threshold], u, pin)),
    Side("reject", "reject", widest([threshold, 1], u, pin)),
  ];
}

function Side(name: string, text: string, [from, to]: Stretch) {
  if (to - from < (6 * 7.2) / trackWidth()) return null;
  return (
    <span class={"sv-side sv-side-" + name} style={{ left: percent((from + to) / 2) }}>
      {text}
    </span>
  );
}

/** The labels under the bar: the probability of acceptance, and the coin. */
function Ticks(panel: TossedPanel, u: number, text: string) {
  const { threshold, sum } = panel.text;
  const chance = sum ?? (panel.q === undefined ? threshold : ratioText(panel, panel.q));
  const coin = "u = " + text;
  const [wide, slim] = [chance, coin].map((each) => (each.length * 7.9) / trackWidth());
  const [bar, pin] = [within(panel.coin.threshold, wide / 2), within(u, slim / 2)];
  const beside = placeBeside(bar, pin, (wide + slim) / 2 + 0.015, wide / 2);
  return (
    <div class={classes("sv-ticks", beside === null && "sv-two")}>
      {Tick("sv-ink-both", "threshold", beside ?? bar, chance)}
      {Tick("sv-u", "coin", pin, coin)}
    </div>
  );
}

const Tick = (kind: string, term: string, at: number, text: string) => (
  <span class={kind} style={{ left: percent(at) }} {...termAttributes(term)}>
    {text}
  </span>
);

const within = (value: number, margin: number) => Math.min(Math.max(value, margin), 1 - margin);

/** Return how the probability is computed from p and q, or from what remains of them. */
function ratioText({ p, labels, text }: TossedPanel, q: number) {
  const [one, other] = ["p", "q"].map((name) => name + (labels.left.includes(name) ? "′" : ""));
  if (p >= q) return one + " ≥ " + other + ": 1";
  return text.p + " ÷ " + text.q + " = " + text.threshold;
}

/**
 * Return where the label of the probability fits beside that of the coin; null if they need two
 * lines.
 */
function placeBeside(wanted: number, pin: number, apart: number, margin: number) {
  if (Math.abs(wanted - pin) >= apart) return wanted;
  const [left, right] = [pin - apart, pin + apart];
  const near = wanted <= pin ? [left, right] : [right, left];
  return near.find((place) => place >= margin && place <= 1 - margin) ?? null;
}
