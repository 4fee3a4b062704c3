// The attention mask as a matrix, with each row's token and position.

import { flat } from "../../shared/dom.js";
import { draw } from "../shared/svg.js";
import { pick } from "./pick.js";
import { $ } from "./stage.js";
import { answer, ranked, view } from "./state.js";

const SIDE = 372; // pixels
const LABELLED = 26; // rows at most for which there is space for labels
const WORDS = 92;
const NUMBERS = 30;

/** @returns {[cell: number, left: number]} */
function sizes() {
  const rows = answer().mask.length;
  const left = rows <= LABELLED ? WORDS : 0;
  const right = rows <= LABELLED ? NUMBERS : 0;
  return [Math.min(18, (SIDE - left - right) / rows), left];
}

/** Draw the matrix; hide it while the tree is not decided yet. */
export function drawMask() {
  $(".sv-grow-later").hidden = ranked();
  $(".sv-grow-mask").hidden = !ranked();
  if (!ranked()) return;
  const { mask, positions, nodes, kept } = answer();
  const [cell, left] = sizes();
  const rows = mask.length;
  const high = rows * cell + (left ? 16 : 0);
  const top = high - rows * cell;
  const svg = draw("svg", { viewBox: `0 0 ${SIDE} ${high}`, class: "sv-grow-matrix", role: "img" });
  svg.setAttribute(
    "aria-label",
    `Attention mask with ${rows} rows: each attends to its ancestors and itself`,
  );
  const side = rows * cell;
  svg.append(draw("rect", { x: left, y: top, width: side, height: side, class: "sv-grow-ground" }));
  const pad = cell > 6 ? 1 : 0;
  const seen = mask.flatMap((columns, row) =>
    columns.map((column) => square(left + column * cell + pad, top + row * cell + pad, cell - pad)),
  );
  svg.append(draw("path", { d: seen.join(""), class: "sv-grow-seen" }));
  svg.append(draw("path", { d: "", class: "sv-grow-cross" }));
  if (left) {
    svg.append(draw("text", { x: left + side + 4, y: 11, class: "sv-grow-position" }, "position"));
    mask.forEach((_, row) => {
      const y = top + (row + 0.5) * cell + 4;
      const word = cut(flat(nodes[kept[row]].w));
      svg.append(draw("text", { x: left - 5, y, class: "sv-grow-rowname" }, word));
      const at = { x: left + side + 4, y, class: "sv-grow-position" };
      svg.append(draw("text", at, String(positions[row])));
    });
  }
  $(".sv-grow-mask").replaceChildren(svg);
  showPickedRow();
}

/** @param {number} x @param {number} y @param {number} side */
const square = (x, y, side) => `M${x} ${y}h${side}v${side}h${-side}z`;
/** @param {string} word */
const cut = (word) => (word.length > 12 ? word.slice(0, 11) + "…" : word);

/** Highlight the row and column of the selected guess. */
export function showPickedRow() {
  const cross = $(".sv-grow-mask").querySelector(".sv-grow-cross");
  if (!cross) return;
  const node = answer().nodes[view.picked];
  const row = node ? node.row : null;
  const [cell, left] = sizes();
  const top = left ? 16 : 0;
  const side = answer().mask.length * cell;
  const at = row === null ? 0 : row * cell;
  const d = `M${left} ${top + at}h${side}v${cell}h${-side}zM${left + at} ${top}h${cell}v${side}h${-cell}z`;
  cross.setAttribute("d", row === null ? "" : d);
}

/** Select guesses by pointing at the matrix. */
export function startMask() {
  $(".sv-grow-mask").addEventListener("pointermove", (event) => {
    const svg = $(".sv-grow-mask").querySelector("svg");
    if (!svg) return;
    const { left, top, width } = svg.getBoundingClientRect();
    const scale = SIDE / width;
    const [cell, words] = sizes();
    const y = (event.clientY - top) * scale - (words ? 16 : 0);
    const x = (event.clientX - left) * scale - words;
    const { kept, mask } = answer();
    const row = Math.floor(y / cell);
    const column = Math.floor(x / cell);
    const inside = row >= 0 && row < kept.length;
    if (inside) pick(kept[x > 0 && mask[row].includes(column) ? column : row]);
  });
}
