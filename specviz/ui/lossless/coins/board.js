// Von Neumann's dartboard: darts land evenly under M q; those under p are kept, and follow p.

import { el, percent } from "../../shared/dom.js";
import { $ } from "./stage.js";

/** @import { Board } from "./data.js" */

const GOLDEN = 0.618034; // steps of it spread darts evenly over a column

/** @param {Board | null} board */
export function showBoard(board) {
  $(".sv-coins-board").hidden = !board;
  if (!board) return;
  const { high, p, bound, darts } = board;
  const kept = darts.filter((dart) => dart[2]).length;
  const most = 1.08 * Math.max(...high, ...p);
  const made = high.map((top, at) => {
    const [roof, law] = [el("i", "sv-coins-roof"), el("i", "sv-coins-under")];
    roof.style.height = percent(top / most);
    law.style.height = percent(p[at] / most);
    const own = darts.filter((dart) => dart[0] === at);
    return el(
      "div",
      "sv-sand-column",
      roof,
      law,
      ...own.map(([, height, in_], number) => {
        const dart = el("i", "sv-coins-dart" + (in_ ? " sv-coins-hit" : ""));
        dart.style.left = percent(0.03 + 0.94 * ((number * GOLDEN) % 1));
        dart.style.bottom = percent(height / most);
        return dart;
      }),
    );
  });
  $(".sv-coins-darts").replaceChildren(...made);
  const share = (kept / darts.length).toFixed(2);
  const long = (1 / Number(bound)).toFixed(2);
  const said = [
    "Von Neumann’s dartboard: " + darts.length + " darts under M q, M = " + bound + ".",
    "The " + kept + " under p are kept, " + share + " of all; in the long run 1/M, " + long + ".",
    "How they spread over the words is p. Speculative sampling throws one dart under q itself,",
    "and repairs what misses.",
  ].join(" ");
  $(".sv-coins-board-said").textContent = said;
  $(".sv-coins-darts").setAttribute("aria-label", said);
}
