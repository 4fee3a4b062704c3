// Von Neumann's dartboard: darts are uniform under M q; those under p are accepted and follow p.

import { percent } from "../../shared/dom.js";
import { classes, h } from "../../shared/view.js";
import { gridStyle, WordRow } from "../shared/output_columns.js";

/** @import { Word } from "../../../frames/scene.py" */
/** @import { Board } from "./answer.py" */

const GOLDEN = 0.618034; // multiples of this step spread darts evenly over a column
const ROOM = 1.08; // space above the tallest column

/** @param {Board} board @param {Word[]} words */
export function Dartboard({ high, p, caption, darts }, words) {
  const scale = ROOM * Math.max(...high, ...p);
  /** @param {number} at */
  const column = (at) =>
    h(
      "div",
      { class: "sv-sand-column" },
      h("i", { class: "sv-coins-roof", style: { height: percent(high[at] / scale) } }),
      h("i", { class: "sv-coins-under", style: { height: percent(p[at] / scale) } }),
      ...darts
        .filter(([word]) => word === at)
        .map(([, height, accepted], number) =>
          h("i", {
            class: classes("sv-coins-dart", accepted > 0 && "sv-coins-hit"),
            style: {
              left: percent(0.03 + 0.94 * ((number * GOLDEN) % 1)),
              bottom: percent(height / scale),
            },
          }),
        ),
    );
  return [
    h("h3", null, "Von Neumann’s dartboard"),
    h(
      "div",
      {
        class: "sv-sand-bars sv-coins-darts",
        role: "img",
        "aria-label": caption,
        style: gridStyle(words),
      },
      ...high.map((_, at) => column(at)),
    ),
    WordRow(words),
    h("figcaption", { class: "sv-coins-board-said" }, caption),
  ];
}
