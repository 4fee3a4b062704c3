// Von Neumann's dartboard: darts are uniform under M q; those under p are accepted and follow p.

import { percent } from "../../shared/dom";
import { classes } from "../../shared/view";
import { gridStyle, WordRow } from "../../shared/output_columns";

import type { Word } from "../../../frames/scene.py";
import type { Board } from "./answer.py";

const GOLDEN = 0.618034; // multiples of this step spread darts evenly over a column
const ROOM = 1.08; // space above the tallest column

export function Dartboard({ high, p, caption, darts }: Board, words: Word[]) {
  const scale = ROOM * Math.max(...high, ...p);
  const column = (at: number) => (
    <div class="sv-sand-column">
      <i class="sv-coins-roof" style={{ height: percent(high[at] / scale) }} />
      <i class="sv-coins-under" style={{ height: percent(p[at] / scale) }} />
      {darts
        .filter(([word]) => word === at)
        .map(([, height, accepted], number) => (
          <i
            class={classes("sv-coins-dart", accepted > 0 && "sv-coins-hit")}
            style={{
              left: percent(0.03 + 0.94 * ((number * GOLDEN) % 1)),
              bottom: percent(height / scale),
            }}
          />
        ))}
    </div>
  );
  return [
    <h3>Von Neumann’s dartboard</h3>,
    <div
      class="sv-sand-bars sv-coins-darts"
      role="img"
      aria-label={caption}
      style={gridStyle(words)}
    >
      {high.map((_, at) => column(at))}
    </div>,
    WordRow(words),
    <figcaption class="sv-coins-board-said">{caption}</figcaption>,
  ];
}
