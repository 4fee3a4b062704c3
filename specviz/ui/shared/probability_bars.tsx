// The bars of p or q. Each bar is a slider for mouse, touch and keyboard.

import { raisedBy } from "./drag";
import { flat, percent } from "./dom";

import { gridStyle } from "./output_columns";

import type { Word } from "../../frames/scene.py";

export interface Bars {
  name: "p" | "q";
  words: Word[];
  /** By word. */
  values: number[];
  /** The probability of a full bar. */
  scale: number;
  onMove: (at: number, value: number) => void;
  /** A drag has begun or ended. */
  onDrag: (drags: boolean) => void;
}

const STRIDES: Record<string, number> = {
  ArrowUp: 0.01,
  ArrowRight: 0.01,
  ArrowDown: -0.01,
  ArrowLeft: -0.01,
  PageUp: 0.1,
  PageDown: -0.1,
  Home: -1,
  End: 1,
};
const TITLES = { p: "Target", q: "Draft" };

/**
 * Set one word's probability; the others share the rest in their old proportions, or evenly if all
 * of them were 0.
 */
export function moved(probabilities: number[], at: number, value: number) {
  const own = Math.min(Math.max(value, 0), 1);
  const others = probabilities.reduce((sum, each, index) => (index === at ? sum : sum + each), 0);
  return probabilities.map((each, index) => {
    if (index === at) return own;
    return others > 0 ? (each / others) * (1 - own) : (1 - own) / (probabilities.length - 1);
  });
}

type Dragged = PointerEvent & { currentTarget: HTMLElement };

/** Where a finger has touched a bar, and the bar's probability then. */
let touched: { start: PointerEvent; from: number } | null = null;

export function ProbabilityBars(bars: Bars) {
  const { name, words } = bars;
  return (
    <div
      class="sv-sand-bars"
      data-distribution={name}
      role="group"
      aria-label={TITLES[name] + " " + name}
      style={gridStyle(words)}
    >
      {words.map((_, at) => Bar(bars, at))}
    </div>
  );
}

function Bar({ name, words, values, scale, onMove, onDrag }: Bars, at: number) {
  const value = values[at].toFixed(2);
  const height = percent(Math.min(1, values[at] / scale));
  const move = (to: number) => onMove(at, Math.min(Math.max(to, 0), 1));
  const follow = (event: Dragged) => {
    const { currentTarget, pointerId, clientY } = event;
    if (!currentTarget.hasPointerCapture(pointerId)) return;
    const { bottom, height } = currentTarget.getBoundingClientRect();
    if (touched) move(touched.from + (raisedBy(touched.start, event) / height) * scale);
    else move(((bottom - clientY) / height) * scale);
  };
  return (
    <div
      class="sv-sand-bar"
      role="slider"
      tabindex={0}
      aria-orientation="vertical"
      aria-valuemin={0}
      aria-valuemax={1}
      aria-valuenow={Number(value)}
      aria-label={TITLES[name] + ": " + flat(words[at])}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        onDrag(true);
        event.currentTarget.setPointerCapture(event.pointerId);
        touched = event.pointerType === "touch" ? { start: event, from: values[at] } : null;
        if (!touched) follow(event); // a touch may be the start of scrolling
      }}
      onPointerMove={follow}
      onLostPointerCapture={() => onDrag(false)}
      onKeyDown={(event) => {
        const by = STRIDES[event.key];
        if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        move(values[at] + by);
      }}
    >
      <i class={"sv-sand-fill sv-sand-is-" + name} style={{ height }} />
      <b style={{ bottom: height }}>{value}</b>
    </div>
  );
}
