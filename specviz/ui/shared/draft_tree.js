// The draft tree of Step, Trees and Cost: pills with marks, edges, bars of p and q, and hover
// texts. Python computes its layout and shortens its words: see figures/tree.py.

import { flat } from "./dom.js";
import { GLYPHS, MARKS, PILL, RISES, STRUCK } from "./given.js";
import { Component, classes, h } from "./view.js";

/** @import { Label } from "../../figures/tree.py" */
/** @import { LayoutData } from "../../figures/layout.py" */
/** @import { Word } from "../../frames/scene.py" */

/**
 * @typedef {object} Node What is drawn of a token.
 * @property {Word} w
 * @property {Label} label
 * @property {number} [parent] The root has none.
 * @property {string} is Its state: a key of STATES in figures/marks.py.
 * @property {number} [p] A bar below the pill.
 * @property {number} [q] A bar below the pill, and the width of the edge.
 * @property {number} [soft]
 * @property {number} [left] The rest of p after earlier tries: a hatched bar.
 * @property {number} [left_q] The rest of q after earlier tries: a hatched bar.
 * @property {number} [both] The probability that a round accepts it: another bar.
 * @property {string} [total] A number on its edge.
 * @property {string} [name] For screen readers.
 * @property {string} [numbers] What its bars show, for screen readers.
 * @property {string} [link] Marks other parts of the page that show the same token (hover_links.js).
 * @property {boolean} [lit] Whether it is on the path to the selected token.
 */
/** @typedef {[x: number, y: number]} Place The left end of a pill and its middle. */
/** @typedef {LayoutData["places"]} Places By node. */
/**
 * @typedef {object} Props
 * @property {Record<string, Node>} nodes
 * @property {LayoutData} layout
 * @property {string} label The name of the tree for screen readers.
 * @property {number} [here] The token that is being judged.
 * @property {number} [picked] The token that is selected.
 * @property {number} [squash] The drawn height over the layout's height; words keep their size.
 * @property {number} [zoom]
 * @property {[low: number, high: number]} [seen] Only what lies between two heights is drawn.
 * @property {boolean} [sideways] Whether left and right move too, to the parent and the first child.
 * @property {(node: number) => void} [onPick] After a click or Enter.
 * @property {(node: number | null, svg: Element) => void} [onPoint] The token under the pointer or with the focus.
 * @property {(node: number) => void} [onReveal] Called before a token that may be out of sight is focused.
 */

const BAR = { width: 52, height: 3.5, below: 4, next: 4.5 };
const SLOT = "-1"; // the place of a round's last token
const SLOT_WIDTH = 56;
const HIT = 30; // minimum height of a target for the pointer

/**
 * Return the tokens in the order of the arrow keys: column by column, from top to bottom.
 * @param {Record<string, Node>} nodes @param {Places} places
 */
const inOrder = (nodes, places) =>
  Object.keys(nodes)
    .filter((id) => Object.hasOwn(places, id))
    .sort((a, b) => places[a][0] - places[b][0] || places[a][1] - places[b][1]);

/**
 * Return the token to which a key moves the focus.
 * @param {Props} props @param {string} id @param {string} key
 */
function neighbour({ nodes, layout: { places }, sideways }, id, key) {
  const order = inOrder(nodes, places).filter((one) => nodes[one].name !== undefined);
  const at = order.indexOf(id);
  if (key === "ArrowDown") return order[at + 1];
  if (key === "ArrowUp") return order[at - 1];
  if (!sideways) return undefined;
  const parent = String(nodes[id].parent);
  if (key === "ArrowLeft") return order.find((one) => one === parent);
  if (key === "ArrowRight") return order.find((one) => String(nodes[one].parent) === id);
  return undefined;
}

/** @extends {Component<Props, { current: string | null }>} */
export class DraftTree extends Component {
  /** @param {Props} props */
  constructor(props) {
    super(props);
    this.state = { current: null };
    /** @type {Element | null} */
    this.svg = null;
    this.listeners = {
      onClick: (/** @type {Event} */ event) => this.pick(event),
      onKeyDown: (/** @type {KeyboardEvent} */ event) => this.key(event),
      onPointerOver: (/** @type {Event} */ event) => this.point(this.nodeAt(event)),
      onPointerLeave: () => this.point(null),
      onFocusIn: (/** @type {Event} */ event) => {
        const node = this.nodeAt(event);
        this.setState({ current: String(node) });
        this.point(node);
      },
      onFocusOut: () => this.point(null),
    };
  }

  /** @param {Event} event @returns {number | null} */
  nodeAt({ target }) {
    const group = target instanceof Element ? target.closest(".sv-twig-node[data-node]") : null;
    return group ? Number(group.getAttribute("data-node")) : null;
  }

  /** @param {Event} event */
  pick(event) {
    const node = this.nodeAt(event);
    /** @type {SVGGElement | null | undefined} */
    const group = this.svg?.querySelector(":focus");
    group?.blur(); // keys work on the page after a click
    if (node !== null) this.props.onPick?.(node);
  }

  /** @param {number | null} node */
  point(node) {
    if (this.svg) this.props.onPoint?.(node, this.svg);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const node = this.nodeAt(event);
    if (node === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = neighbour(this.props, String(node), event.key);
    const { onPick } = this.props;
    if (onPick && (event.key === "Enter" || event.key === " ")) onPick(node);
    else if (next !== undefined) this.focus(next);
    else if (!event.key.startsWith("Arrow") || !(this.props.sideways || /[UD]/.test(event.key)))
      return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {string} id */
  focus(id) {
    this.props.onReveal?.(Number(id));
    /** @type {SVGGElement | null | undefined} */
    const group = this.svg?.querySelector(`[data-node="${id}"]`);
    group?.focus({ preventScroll: Boolean(this.props.onReveal) });
  }

  render() {
    const { nodes, layout, label, squash = 1, zoom = 1, seen } = this.props;
    const { width, height, heads, places } = layout;
    const [low, high] = seen ?? [-Infinity, Infinity];
    const inside = (/** @type {string} */ id) =>
      Object.hasOwn(places, id) && places[id][1] >= low && places[id][1] <= high;
    const drawn = inOrder(nodes, places);
    const stop = drawn.find((id) => id === this.state.current && inside(id));
    const first = stop ?? drawn.find((id) => inside(id) && nodes[id].name !== undefined);
    const tall = height * squash;
    return h(
      "svg",
      {
        class: "sv-twig-svg",
        ref: (/** @type {Element | null} */ svg) => {
          this.svg = svg;
        },
        preserveAspectRatio: "xMinYMin meet",
        viewBox: `0 0 ${width} ${tall}`,
        width: Math.round(width * zoom),
        height: Math.round(tall * zoom),
        role: "group",
        "aria-label": label,
        ...this.listeners,
      },
      heads.map(([x, name]) =>
        h("text", { key: name, class: "sv-twig-head", x, y: 4 + 9 * squash }, name),
      ),
      edges(this.props, drawn, low, high),
      drawn.filter(inside).map((id) => this.token(id, id === first)),
    );
  }

  /** @param {string} id @param {boolean} stop Whether the Tab key stops at it. */
  token(id, stop) {
    const { here, picked, squash = 1, nodes, layout, onPick } = this.props;
    const node = nodes[id];
    const button = node.name !== undefined;
    return h(
      "g",
      {
        key: id,
        class: classes(
          "sv-twig-node",
          button && "sv-spot",
          "sv-twig-is-" + node.is,
          node.lit && "sv-twig-on",
          Number(id) === picked && "sv-twig-picked",
          onPick && button && "sv-twig-open",
        ),
        "data-node": id,
        "data-link": node.link,
        ...(button
          ? {
              role: onPick ? "button" : "img",
              "aria-label": node.name,
              "aria-description": node.numbers,
              tabindex: stop ? 0 : -1,
            }
          : {}),
      },
      Token(id, node, layout, squash, Number(id) === here),
    );
  }
}

/** @param {Node} node */
const pillWidth = ({ label, is }) =>
  is === "slot" ? SLOT_WIDTH : Math.max(PILL.least, label.pill + (MARKS[is] ? PILL.mark : 0));

/** @param {string} id @param {Node} node @param {LayoutData} layout @param {number} squash @param {boolean} here */
function Token(id, node, { places, trunk }, squash, here) {
  const [x, middle] = places[id];
  const { w, label, is, total } = node;
  const y = middle * squash;
  const high = PILL.height * squash;
  const top = y - high / 2;
  const wide = pillWidth(node);
  const left = id === "0" ? x - 8 : x; // the root's word starts its column
  const start = left + (is === "slot" ? wide / 2 - 4 : 8);
  const hit = Math.max(HIT, high);
  return [
    h("rect", { class: "sv-twig-hit", x: left, y: y - hit / 2, width: wide, height: hit }),
    h("rect", { class: "sv-twig-pill", x: left, y: top, width: wide, height: high, rx: 5 }),
    here && Ring(left, top, wide, high),
    is === "accepted" &&
      h("rect", {
        class: "sv-twig-b",
        x: left,
        y: top + high - 3 * squash,
        width: wide,
        height: 3 * squash,
      }),
    trunk > 0 && Bars(node, left, top + high + BAR.below * squash, squash),
    label.at.map((dx, at) => {
      const shortened = label.cut !== undefined && at === label.at.length - 1;
      return Piece(start + dx, y, shortened ? label.cut : w[at]);
    }),
    STRUCK.includes(is) &&
      h("path", { class: "sv-twig-strike", d: `M${start - 1} ${y + 1}H${start + label.end + 1}` }),
    MARKS[is] &&
      h(
        "g",
        { class: "sv-twig-mark", transform: `translate(${left + wide - 18} ${y - 6})` },
        (MARKS[is] ?? []).map(([d, style]) => h("path", { d, class: style })),
      ),
    total && h("text", { class: "sv-twig-total", x: left - 5, y: y - 6 }, total),
  ];
}

/**
 * The frame around the token that is being judged.
 * @param {number} x @param {number} y @param {number} wide @param {number} high
 */
const Ring = (x, y, wide, high) =>
  h("rect", {
    class: "sv-twig-here",
    x: x - 3,
    y: y - 3,
    width: wide + 6,
    height: high + 6,
    rx: 7,
  });

/** @param {number} x @param {number} y @param {Word[number] | undefined} piece */
function Piece(x, y, piece) {
  if (piece === undefined) return null;
  if (typeof piece === "string" || !piece.g)
    return h("text", { class: "sv-twig-word", x, y: y + 5 }, flat([piece]));
  const [, paths] = GLYPHS[piece.g];
  return h(
    "g",
    { class: "sv-twig-glyph", transform: `translate(${x - 0.5} ${y - RISES[piece.g]})` },
    paths.map(([d]) => h("path", { d })),
  );
}

/** @param {Node} node @param {number} x @param {number} y @param {number} squash */
function Bars({ p, q, soft, both, left, left_q }, x, y, squash) {
  const high = BAR.height * squash;
  const below = y + BAR.next * squash;
  return [
    left !== undefined ? Hatched("p", left, x, y, high) : Bar("p", p, x, y, high),
    Bar("soft", soft, x, y, high),
    Bar("b", both, x, y, high),
    left_q !== undefined ? Hatched("q", left_q, x, below, high) : Bar("q", q, x, below, high),
  ];
}

/** @param {number} value */
const barWidth = (value) => Math.max(value * BAR.width, 0.5);

/** @param {string} name @param {number | undefined} value @param {number} x @param {number} y @param {number} height */
const Bar = (name, value, x, y, height) =>
  value !== undefined &&
  h("rect", { class: "sv-twig-bar sv-twig-" + name, x, y, width: barWidth(value), height });

/**
 * A pale bar with slanting stripes.
 * @param {"p" | "q"} name @param {number} value @param {number} x @param {number} y @param {number} high
 */
function Hatched(name, value, x, y, high) {
  const width = barWidth(value);
  let d = "";
  for (let from = 0; from < width; from += 5) {
    const [a, b, c, e] = [0, 2.5, 4.5, 2].map((step) => x + Math.min(from + step, width));
    d += `M${e} ${y}H${c}L${b} ${y + high}H${a}z`;
  }
  return [
    h("rect", { class: "sv-twig-left sv-twig-left-" + name, x, y, width, height: high }),
    h("path", { class: "sv-twig-stripe sv-twig-" + name, d }),
  ];
}

/**
 * Return the edges to draw; those of the selected path come last, above others on the same trunk.
 * @param {Props} props @param {string[]} drawn @param {number} low @param {number} high
 */
function edges({ nodes, layout: { places, trunk }, squash = 1 }, drawn, low, high) {
  const all = drawn.filter((id) => {
    const from = places[String(nodes[id].parent)];
    return from && places[id][1] >= low && from[1] <= high;
  });
  const sorted = [...all.filter((id) => !nodes[id].lit), ...all.filter((id) => nodes[id].lit)];
  return sorted.map((id) => {
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
    const lit = node.lit && "sv-twig-on";
    return h("path", {
      key: "edge " + id,
      class: classes("sv-twig-line", style, "sv-twig-to-" + node.is, lit),
      "data-line": id,
      d,
    });
  });
}

/** @typedef {{ x: number, y: number, fromX: number, fromY: number, start: number, trunk: number }} Ends */

/**
 * An edge as a band as wide as q: straight to the right, or down below the parent and then right.
 * @param {Ends} ends @param {Node} node @param {number} squash
 */
function edge({ x, y, fromX, fromY, start, trunk }, { q }, squash) {
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
 * @param {Ends} ends @param {boolean} around @param {number} squash
 */
function slotEdge({ x, y, fromX, fromY, start }, around, squash) {
  if (y === fromY) return `M${start} ${y}H${x}`;
  if (around) return `M${x - 3} ${fromY - 2 * squash}V${y}H${x}`;
  return `M${fromX + 14} ${fromY - (PILL.height / 2 + 2) * squash}V${y}H${x}`;
}

/** The hover text of the token under the pointer; empty if the pointer is on no token. @param {string[]} lines */
export const Facts = (lines) => lines.map((line) => h("span", null, line));

/** A pill without a word, for a legend. @param {string} state */
export const StateKey = (state) =>
  h(
    "svg",
    { class: "sv-twig-key", viewBox: "0 0 22 14", "aria-hidden": "true" },
    h(
      "g",
      { class: "sv-twig-is-" + state },
      h("rect", { class: "sv-twig-pill", x: 1, y: 1, width: 20, height: 12, rx: 3 }),
      state === "accepted" && h("rect", { class: "sv-twig-b", x: 1, y: 11, width: 20, height: 2 }),
    ),
  );
