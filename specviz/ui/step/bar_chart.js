// A chart of horizontal bars and of texts beside them, as SVG: all that Step's figures need. Plotly
// would take longer to draw it than the rest of a step takes, and is many times the page's size.

import { h } from "../shared/view.js";

/** @import { Figure, Layout } from "../shared/plotly.js" */
/** @typedef {{ x: (value: number) => number, y: (value: number) => number }} Scales In pixels. */
/**
 * @typedef {object} Bars
 * @property {"bar"} type
 * @property {number[]} x
 * @property {number[]} y
 * @property {number} width In units of y.
 * @property {{ color: string, line: { color: string, width: number } }} marker
 */
/**
 * @typedef {object} Texts
 * @property {undefined} type
 * @property {number[]} x
 * @property {number[]} y
 * @property {string[]} text Escaped, as plotly wants it.
 * @property {"middle left" | "middle right"} textposition The side of its point.
 * @property {{ family: string, size: number, color: string[] }} textfont
 */

/**
 * @param {Figure} figure
 * @param {number} squash The drawn height over the layout's height; letters keep their size.
 * @param {number} room The available width in pixels.
 */
export function BarChart({ data, layout }, squash, room) {
  const width = Math.min(layout.width, room || layout.width);
  const height = layout.height * squash;
  const scales = scalesOf({ ...layout, width, height });
  const traces = Object.keys(data)
    .sort()
    .map((name) => {
      const trace = /** @type {Bars | Texts} */ (/** @type {unknown} */ (data[name]));
      const marks = trace.type ? BarMarks(trace, scales) : TextMarks(trace, scales);
      return h("g", { key: name, "data-trace": name }, ...marks);
    });
  return h("svg", { width, height, "aria-hidden": "true" }, ...traces);
}

/** The style sheet's colour of a name such as "--p". @param {string} color */
const colourOf = (color) => (color.startsWith("--") ? `var(--sv-${color.slice(2)})` : color);

/** @param {Layout} layout @returns {Scales} */
function scalesOf({ width, height, margin: { l, r, t, b }, xaxis, yaxis }) {
  const [west, east] = xaxis.range;
  const [south, north] = yaxis.range;
  return {
    x: (value) => l + ((value - west) / (east - west)) * (width - l - r),
    y: (value) => t + ((value - north) / (south - north)) * (height - t - b),
  };
}

/** @param {Bars} trace @param {Scales} scales */
function BarMarks({ x, y, width, marker: { color, line } }, scales) {
  const style = { fill: colourOf(color), stroke: colourOf(line.color), strokeWidth: line.width };
  return x.map((value, at) => {
    const [top, bottom] = [-0.5, 0.5].map((side) => scales.y(y[at] + side * width));
    return h("path", {
      d: `M${scales.x(0)},${bottom}V${top}H${scales.x(value)}V${bottom}Z`,
      style,
    });
  });
}

/** @type {Record<string, string>} */
const SIGNS = { "&lt;": "<", "&gt;": ">", "&amp;": "&" };

/** @param {Texts} trace @param {Scales} scales */
function TextMarks({ x, y, text, textposition, textfont: { family, size, color } }, scales) {
  const anchor = textposition === "middle left" ? "end" : "start";
  return text.map((word, at) => {
    const fill = colourOf(color[at]);
    const style = { fontFamily: family, fontSize: size + "px", fill, whiteSpace: "pre" };
    const place = { x: scales.x(x[at]), y: scales.y(y[at]) + 0.35 * size };
    const attributes = { ...place, "text-anchor": anchor, style };
    return h(
      "text",
      attributes,
      word.replace(/&(lt|gt|amp);/g, (sign) => SIGNS[sign]),
    );
  });
}
