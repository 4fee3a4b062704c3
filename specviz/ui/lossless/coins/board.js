// Von Neumann's dartboard: darts land uniformly below M q; those below p are accepted and follow p.

import { el, percent } from "../../shared/dom.js";
import { $ } from "./stage.js";

/** @import { Board } from "./data.js" */

const GOLDEN = 0.618034; // steps of this size spread darts evenly over a column

/** @param {Board | null} board */
export function showBoard(board) {
  $(".sv-coins-board").hidden = !board;
  if (!board) return;
  const { high, p, said, darts } = board;
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
  $(".sv-coins-board-said").textContent = said;
  $(".sv-coins-darts").setAttribute("aria-label", said);
}
