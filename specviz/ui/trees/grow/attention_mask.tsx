// The attention mask as a matrix, with each row's token and position.

import { flat } from "../../shared/dom";

import { answer, pick, view } from "./state";

const SIDE = 372; // pixels of a cell
const LABELLED = 26; // maximum number of rows for which there is space for labels
const WORDS = 92;
const NUMBERS = 30;
const HEAD = 16;

/** Return the positions of the cells. */
function sizes() {
  const rows = answer().mask.length;
  const labelled = rows <= LABELLED;
  const [left, right] = labelled ? [WORDS, NUMBERS] : [0, 0];
  const cell = Math.min(18, (SIDE - left - right) / rows);
  return { rows, labelled, cell, left, top: labelled ? HEAD : 0, side: rows * cell };
}

export function AttentionMask() {
  const { rows, labelled, cell, left, top, side } = sizes();
  const pad = cell > 6 ? 1 : 0;
  const filled = answer().mask.flatMap((columns, row) =>
    columns.map((column) => square(left + column * cell + pad, top + row * cell + pad, cell - pad)),
  );
  return (
    <svg
      viewBox={`0 0 ${SIDE} ${side + top}`}
      class="sv-grow-matrix"
      role="img"
      aria-label={`Attention mask with ${rows} rows: each attends to its ancestors and itself`}
      onPointerMove={point}
    >
      <rect x={left} y={top} width={side} height={side} class="sv-grow-ground" />
      <path d={filled.join("")} class="sv-grow-seen" />
      <path d={cross()} class="sv-grow-cross" />
      {labelled && labels()}
    </svg>
  );
}

function labels() {
  const { positions, nodes, kept } = answer();
  const { cell, left, top, side } = sizes();
  const head = { x: left + side + 4, y: 11, class: "sv-grow-position" };
  return [
    <text {...head}>position</text>,
    ...positions.flatMap((position, row) => {
      const y = top + (row + 0.5) * cell + 4;
      const name = { x: left - 5, y, class: "sv-grow-rowname" };
      return [
        <text {...name}>{cut(flat(nodes[kept[row]].w))}</text>,
        <text {...head} y={y}>
          {String(position)}
        </text>,
      ];
    }),
  ];
}

const square = (x: number, y: number, side: number) => `M${x} ${y}h${side}v${side}h${-side}z`;
const cut = (word: string) => (word.length > 12 ? word.slice(0, 11) + "…" : word);

/** Highlight the row and column of the selected guess. */
function cross() {
  const row = answer().nodes[view.picked]?.row ?? null;
  if (row === null) return "";
  const { cell, left, top, side } = sizes();
  const at = row * cell;
  return `M${left} ${top + at}h${side}v${cell}h${-side}zM${left + at} ${top}h${cell}v${side}h${-cell}z`;
}

/** Select the guess of the row, or of the column to which it attends. */
function point(event: PointerEvent) {
  const svg = event.currentTarget as SVGSVGElement;
  const box = svg.getBoundingClientRect();
  const scale = SIDE / box.width;
  const { cell, left, top } = sizes();
  const x = (event.clientX - box.left) * scale - left;
  const row = Math.floor(((event.clientY - box.top) * scale - top) / cell);
  const column = Math.floor(x / cell);
  const { kept, mask } = answer();
  if (row >= 0 && row < kept.length) pick(kept[x > 0 && mask[row].includes(column) ? column : row]);
}
