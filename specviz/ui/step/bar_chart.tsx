// A chart of horizontal bars and of texts beside them, as SVG: all that Step's figures need. Plotly
// would take longer to draw it than the rest of a step takes, and is many times the page's size.

import type { Chart } from "../../frames/scene.py";

/** In pixels. */
export type Scales = { x: (value: number) => number; y: (value: number) => number };
export interface Bars {
  type: "bar";
  x: number[];
  y: number[];
  /** In units of y. */
  width: number;
  marker: { color: string; line: { color: string; width: number } };
}
export interface Texts {
  type: undefined;
  x: number[];
  y: number[];
  /** Escaped, as plotly wants it. */
  text: string[];
  /** The side of its point. */
  textposition: "middle left" | "middle right";
  textfont: { family: string; size: number; color: string[] };
}

/**
 * @param squash The drawn height over the layout's height; letters keep their size.
 * @param room The available width in pixels.
 */
export function BarChart(chart: Chart, squash: number, room: number) {
  const { data } = chart;
  const width = Math.min(chart.width, room || chart.width);
  const height = chart.height * squash;
  const scales = scalesOf({ ...chart, width, height });
  const traces = Object.keys(data)
    .sort()
    .map((name) => {
      const trace = data[name] as unknown as Bars | Texts;
      const marks = trace.type ? BarMarks(trace, scales) : TextMarks(trace, scales);
      return (
        <g key={name} data-trace={name}>
          {marks}
        </g>
      );
    });
  return (
    <svg width={width} height={height} aria-hidden="true">
      {traces}
    </svg>
  );
}

/** The style sheet's colour of a name such as "--p". */
const colourOf = (color: string) =>
  color.startsWith("--") ? `var(--sv-${color.slice(2)})` : color;

function scalesOf({ width, height, margins: [left, right], y: [south, north] }: Chart): Scales {
  return {
    x: (value) => left + value * (width - left - right),
    y: (value) => ((value - north) / (south - north)) * height,
  };
}

function BarMarks({ x, y, width, marker: { color, line } }: Bars, scales: Scales) {
  const style = { fill: colourOf(color), stroke: colourOf(line.color), strokeWidth: line.width };
  return x.map((value, at) => {
    const [top, bottom] = [-0.5, 0.5].map((side) => scales.y(y[at] + side * width));
    return (
      <path d={`M${scales.x(0)},${bottom}V${top}H${scales.x(value)}V${bottom}Z`} style={style} />
    );
  });
}

const SIGNS: Record<string, string> = { "&lt;": "<", "&gt;": ">", "&amp;": "&" };

function TextMarks(
  { x, y, text, textposition, textfont: { family, size, color } }: Texts,
  scales: Scales,
) {
  const anchor = textposition === "middle left" ? "end" : "start";
  return text.map((word, at) => {
    const fill = colourOf(color[at]);
    const style = { fontFamily: family, fontSize: size + "px", fill, whiteSpace: "pre" };
    const place = { x: scales.x(x[at]), y: scales.y(y[at]) + 0.35 * size };
    const attributes = { ...place, "text-anchor": anchor, style };
    return <text {...attributes}>{word.replace(/&(lt|gt|amp);/g, (sign) => SIGNS[sign])}</text>;
  });
}
