// The draft tree of Step: pills with marks, edges, bars of p and q, and hover texts. Python computes
// its layout and shortens its words: see figures/tree.py.

import { flat } from "./dom";
import { GLYPHS, MARKS, PILL, RISES, STRUCK } from "./given";
import { Component, classes } from "./view";

import type { Label } from "../../figures/tree.py";
import type { LayoutData } from "../../figures/layout.py";
import type { Word } from "../../frames/scene.py";

/** What is drawn of a token. */
export interface Node {
  w: Word;
  label: Label;
  /** The root has none. */
  parent?: number;
  /** Its state: a key of STATES in figures/marks.py. */
  is: string;
  /** A bar below the pill. */
  p?: number;
  /** A bar below the pill, and the width of the edge. */
  q?: number;
  soft?: number;
  /** The rest of p after earlier tries: a hatched bar. */
  left?: number;
  /** The rest of q after earlier tries: a hatched bar. */
  left_q?: number;
  /** For screen readers. */
  name?: string;
  /** What its bars show, for screen readers. */
  numbers?: string;
  /** Marks other parts of the page that show the same token (hover_links.ts). */
  link?: string;
}
/** The left end of a pill and its middle. */
export type Place = [x: number, y: number];
/** By node. */
export type Places = LayoutData["places"];
export interface Props {
  nodes: Record<string, Node>;
  layout: LayoutData;
  /** The name of the tree for screen readers. */
  label: string;
  /** The token that is being judged. */
  here?: number;
  /** The drawn height over the layout's height; words keep their size. */
  squash?: number;
  zoom?: number;
  /** After a click or Enter. */
  onPick?: (node: number) => void;
  /** The token under the pointer or with the focus. */
  onPoint?: (node: number | null, svg: Element) => void;
}

const BAR = { width: 52, height: 3.5, below: 4, next: 4.5 };
const SLOT = "-1"; // the place of a round's last token
const SLOT_WIDTH = 56;
const HIT = 30; // minimum height of a target for the pointer

/** Return the tokens in the order of the arrow keys: column by column, from top to bottom. */
const inOrder = (nodes: Record<string, Node>, places: Places) =>
  Object.keys(nodes)
    .filter((id) => Object.hasOwn(places, id))
    .sort((a, b) => places[a][0] - places[b][0] || places[a][1] - places[b][1]);

/** Return the token to which a key moves the focus. */
function neighbour({ nodes, layout: { places } }: Props, id: string, key: string) {
  const order = inOrder(nodes, places).filter((one) => nodes[one].name !== undefined);
  const at = order.indexOf(id);
  if (key === "ArrowDown") return order[at + 1];
  if (key === "ArrowUp") return order[at - 1];
  return undefined;
}

export class DraftTree extends Component<Props, { current: string | null }> {
  state = { current: null };
  svg: Element | null = null;
  listeners = {
    onClick: (event: Event) => this.pick(event),
    onKeyDown: (event: KeyboardEvent) => this.key(event),
    onPointerOver: (event: Event) => this.point(this.nodeAt(event)),
    onPointerLeave: () => this.point(null),
    onFocusIn: (event: Event) => {
      const node = this.nodeAt(event);
      this.setState({ current: String(node) });
      this.point(node);
    },
    onFocusOut: () => this.point(null),
  };

  nodeAt({ target }: Event): number | null {
    const group = target instanceof Element ? target.closest(".sv-twig-node[data-node]") : null;
    return group ? Number(group.getAttribute("data-node")) : null;
  }

  pick(event: Event) {
    const node = this.nodeAt(event);
    const group: SVGGElement | null | undefined = this.svg?.querySelector(":focus");
    group?.blur(); // keys work on the page after a click
    if (node !== null) this.props.onPick?.(node);
  }

  point(node: number | null) {
    if (this.svg) this.props.onPoint?.(node, this.svg);
  }

  key(event: KeyboardEvent) {
    const node = this.nodeAt(event);
    if (node === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = neighbour(this.props, String(node), event.key);
    const { onPick } = this.props;
    if (onPick && (event.key === "Enter" || event.key === " ")) onPick(node);
    else if (next !== undefined) this.focus(next);
    else if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
    event.preventDefault();
    event.stopPropagation();
  }

  focus(id: string) {
    const group: SVGGElement | null | undefined = this.svg?.querySelector(`[data-node="${id}"]`);
    group?.focus();
  }

  render() {
    const { nodes, layout, label, squash = 1, zoom = 1 } = this.props;
    const { width, height, heads, places } = layout;
    const drawn = inOrder(nodes, places);
    const stop = drawn.find((id) => id === this.state.current);
    const first = stop ?? drawn.find((id) => nodes[id].name !== undefined);
    const tall = height * squash;
    return (
      <svg
        class="sv-twig-svg"
        ref={(svg: Element | null) => {
          this.svg = svg;
        }}
        preserveAspectRatio="xMinYMin meet"
        viewBox={`0 0 ${width} ${tall}`}
        width={Math.round(width * zoom)}
        height={Math.round(tall * zoom)}
        role="group"
        aria-label={label}
        {...this.listeners}
      >
        {heads.map(([x, name]) => (
          <text key={name} class="sv-twig-head" x={x} y={4 + 9 * squash}>
            {name}
          </text>
        ))}
        {edges(this.props, drawn)}
        {drawn.map((id) => this.token(id, id === first))}
      </svg>
    );
  }

  /** @param stop Whether the Tab key stops at it. */
  token(id: string, stop: boolean) {
    const { here, squash = 1, nodes, layout, onPick } = this.props;
    const node = nodes[id];
    const button = node.name !== undefined;
    return (
      <g
        key={id}
        class={classes(
          "sv-twig-node",
          button && "sv-spot",
          "sv-twig-is-" + node.is,
          onPick && button && "sv-twig-open",
        )}
        data-node={id}
        data-link={node.link}
        {...(button
          ? {
              role: onPick ? "button" : "img",
              "aria-label": node.name,
              "aria-description": node.numbers,
              tabindex: stop ? 0 : -1,
            }
          : {})}
      >
        {Token(id, node, layout, squash, Number(id) === here)}
      </g>
    );
  }
}

const pillWidth = ({ label, is }: Node) =>
  is === "slot" ? SLOT_WIDTH : Math.max(PILL.least, label.pill + (MARKS[is] ? PILL.mark : 0));

function Token(
  id: string,
  node: Node,
  { places, trunk }: LayoutData,
  squash: number,
  here: boolean,
) {
  const [x, middle] = places[id];
  const { w, label, is } = node;
  const y = middle * squash;
  const high = PILL.height * squash;
  const top = y - high / 2;
  const wide = pillWidth(node);
  const left = id === "0" ? x - 8 : x; // the root's word starts its column
  const start = left + (is === "slot" ? wide / 2 - 4 : 8);
  const hit = Math.max(HIT, high);
  return [
    <rect class="sv-twig-hit" x={left} y={y - hit / 2} width={wide} height={hit} />,
    <rect class="sv-twig-pill" x={left} y={top} width={wide} height={high} rx={5} />,
    here && Ring(left, top, wide, high),
    is === "accepted" && (
      <rect
        class="sv-twig-b"
        x={left}
        y={top + high - 3 * squash}
        width={wide}
        height={3 * squash}
      />
    ),
    trunk > 0 && Bars(node, left, top + high + BAR.below * squash, squash),
    label.at.map((dx, at) => {
      const shortened = label.cut !== undefined && at === label.at.length - 1;
      return Piece(start + dx, y, shortened ? label.cut : w[at]);
    }),
    STRUCK.includes(is) && (
      <path class="sv-twig-strike" d={`M${start - 1} ${y + 1}H${start + label.end + 1}`} />
    ),
    MARKS[is] && (
      <g class="sv-twig-mark" transform={`translate(${left + wide - 18} ${y - 6})`}>
        {(MARKS[is] ?? []).map(([d, style]) => (
          <path d={d} class={style} />
        ))}
      </g>
    ),
  ];
}

/** The frame around the token that is being judged. */
const Ring = (x: number, y: number, wide: number, high: number) => (
  <rect class="sv-twig-here" x={x - 3} y={y - 3} width={wide + 6} height={high + 6} rx={7} />
);

function Piece(x: number, y: number, piece: Word[number] | undefined) {
  if (piece === undefined) return null;
  if (typeof piece === "string" || !piece.g)
    return (
      <text class="sv-twig-word" x={x} y={y + 5}>
        {flat([piece])}
      </text>
    );
  const [, paths] = GLYPHS[piece.g];
  return (
    <g class="sv-twig-glyph" transform={`translate(${x - 0.5} ${y - RISES[piece.g]})`}>
      {paths.map(([d]) => (
        <path d={d} />
      ))}
    </g>
  );
}

function Bars({ p, q, soft, left, left_q }: Node, x: number, y: number, squash: number) {
  const high = BAR.height * squash;
  const below = y + BAR.next * squash;
  return [
    left !== undefined ? Hatched("p", left, x, y, high) : Bar("p", p, x, y, high),
    Bar("soft", soft, x, y, high),
    left_q !== undefined ? Hatched("q", left_q, x, below, high) : Bar("q", q, x, below, high),
  ];
}

const barWidth = (value: number) => Math.max(value * BAR.width, 0.5);

const Bar = (name: string, value: number | undefined, x: number, y: number, height: number) =>
  value !== undefined && (
    <rect
      class={"sv-twig-bar sv-twig-" + name}
      x={x}
      y={y}
      width={barWidth(value)}
      height={height}
    />
  );

/** A pale bar with slanting stripes. */
function Hatched(name: "p" | "q", value: number, x: number, y: number, high: number) {
  const width = barWidth(value);
  let d = "";
  for (let from = 0; from < width; from += 5) {
    const [a, b, c, e] = [0, 2.5, 4.5, 2].map((step) => x + Math.min(from + step, width));
    d += `M${e} ${y}H${c}L${b} ${y + high}H${a}z`;
  }
  return [
    <rect class={"sv-twig-left sv-twig-left-" + name} x={x} y={y} width={width} height={high} />,
    <path class={"sv-twig-stripe sv-twig-" + name} d={d} />,
  ];
}

function edges({ nodes, layout: { places, trunk }, squash = 1 }: Props, drawn: string[]) {
  const all = drawn.filter((id) => places[String(nodes[id].parent)]);
  return all.map((id) => {
    const node = nodes[id];
    const parent = nodes[String(node.parent)];
    const [x, y] = places[id];
    const [fromX, fromY] = places[String(node.parent)];
    const start = fromX + (node.parent === 0 && parent ? parent.label.pill - 12 : 20);
    const ends = { x, y: y * squash, fromX, fromY: fromY * squash, start, trunk };
    const [style, d] =
      id === SLOT
        ? [
            "sv-twig-dots",
            slotEdge(
              ends,
              drawn.some((one) => places[one][1] > y && places[one][1] < fromY),
              squash,
            ),
          ]
        : ["", edge(ends, node, squash)];
    return (
      <path
        key={"edge " + id}
        class={classes("sv-twig-line", style, "sv-twig-to-" + node.is)}
        data-line={id}
        d={d}
      />
    );
  });
}

export type Ends = {
  x: number;
  y: number;
  fromX: number;
  fromY: number;
  start: number;
  trunk: number;
};

/** An edge as a band as wide as q: straight to the right, or down below the parent and then right. */
function edge({ x, y, fromX, fromY, start, trunk }: Ends, { q }: Node, squash: number) {
  const half = (Math.max(1.5, 9 * (q ?? 0.25)) / 2) * squash;
  if (y === fromY) return `M${start} ${y - half}H${x}V${y + half}H${start}z`;
  const turn = fromX + 14;
  const top = fromY + (PILL.height / 2 + trunk) * squash;
  const wide = half / squash;
  return `M${turn - wide} ${top}V${y + half}H${x}V${y - half}H${turn + wide}V${top}z`;
}

/**
 * The edge to the round's last token: straight, or upwards between two columns if branches are
 * above.
 */
function slotEdge({ x, y, fromX, fromY, start }: Ends, around: boolean, squash: number) {
  if (y === fromY) return `M${start} ${y}H${x}`;
  if (around) return `M${x - 3} ${fromY - 2 * squash}V${y}H${x}`;
  return `M${fromX + 14} ${fromY - (PILL.height / 2 + 2) * squash}V${y}H${x}`;
}

/** The hover text of the token under the pointer; empty if the pointer is on no token. */
export const Facts = (lines: string[]) => lines.map((line) => <span>{line}</span>);
