// A chart of horizontal bars and texts as SVG, which is all that Step's figures need. It replaces
// plotly where that is not available, and its elements have the same names.

import { h, render } from "./view.js";

/** @import { Plotly } from "./plotly.js" */
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
 * @property {"scatter"} type
 * @property {"text"} mode
 * @property {number[]} x
 * @property {number[]} y
 * @property {string[]} text Escaped, as plotly wants it.
 * @property {"middle left" | "middle right"} textposition The side of its point.
 * @property {{ family: string, size: number, color: string[] }} textfont
 */

/** @type {Plotly["react"]} */
export function react(place, traces, layout) {
  const { width, height } = layout;
  const scales = scalesOf(layout);
  const drawn = /** @type {(Bars | Texts)[]} */ (traces).filter((trace) => trace.x.length);
  const bars = drawn.flatMap((trace) => (trace.type === "bar" ? [BarTrace(trace, scales)] : []));
  const texts = drawn.flatMap((trace) => (trace.type === "bar" ? [] : [TextTrace(trace, scales)]));
  const svg = h(
    "svg",
    { class: "main-svg", width, height, "aria-hidden": "true" },
    h("g", { class: "barlayer" }, ...bars),
    h("g", { class: "scatterlayer" }, ...texts),
  );
  render(svg, place);
  return Promise.resolve(place);
}

/** @param {Parameters<Plotly["react"]>[2]} layout @returns {Scales} */
function scalesOf({ width, height, margin: { l, r, t, b }, xaxis, yaxis }) {
  const [west, east] = xaxis.range;
  const [south, north] = yaxis.range;
  return {
    x: (value) => l + ((value - west) / (east - west)) * (width - l - r),
    y: (value) => t + ((value - north) / (south - north)) * (height - t - b),
  };
}

/** @param {Bars} trace @param {Scales} scales */
function BarTrace({ x, y, width, marker: { color, line } }, scales) {
  const style = { fill: color, stroke: line.color, strokeWidth: line.width };
  const points = x.map((value, at) => {
    const [top, bottom] = [-0.5, 0.5].map((side) => scales.y(y[at] + side * width));
    const d = `M${scales.x(0)},${bottom}V${top}H${scales.x(value)}V${bottom}Z`;
    return h("g", { class: "point" }, h("path", { d, style }));
  });
  return h("g", { class: "trace bars" }, ...points);
}

/** @type {Record<string, string>} */
const SIGNS = { "&lt;": "<", "&gt;": ">", "&amp;": "&" };

/** @param {Texts} trace @param {Scales} scales */
function TextTrace({ x, y, text, textposition, textfont: { family, size, color } }, scales) {
  const anchor = textposition === "middle left" ? "end" : "start";
  const words = text.map((word, at) =>
    h(
      "text",
      {
        x: scales.x(x[at]),
        y: scales.y(y[at]) + 0.35 * size,
        "text-anchor": anchor,
        style: { fontFamily: family, fontSize: size + "px", fill: color[at], whiteSpace: "pre" },
      },
      word.replace(/&(lt|gt|amp);/g, (sign) => SIGNS[sign]),
    ),
  );
  return h("g", { class: "trace scatter" }, ...words);
}
