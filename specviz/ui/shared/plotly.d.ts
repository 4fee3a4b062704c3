// As much of plotly's types as is used.

/** A figure that Python made with plotly. meta: What it shows, in words. */
export interface Drawing {
  data: { x?: number[]; y?: number[]; selectedpoints?: number[] }[];
  layout: {
    xaxis: { range: [number, number] };
    width?: number;
    minreducedwidth?: number;
    height: number;
    meta?: string;
    [more: string]: unknown;
  };
}

/** A trace of a chart of Step, which bar_chart.tsx draws; colours are names ("--p"). */
export interface Trace {
  type?: TraceType;
  x: (number | null)[];
  y: (number | null)[];
  text?: string[];
  hovertext?: string[];
  [more: string]: unknown;
}
export type TraceType = "scatter" | "bar";
export interface Layout {
  width: number;
  height: number;
  margin: { l: number; r: number; t: number; b: number };
  xaxis: { range: [number, number] };
  yaxis: { range: [number, number] };
  [more: string]: unknown;
}
export interface Figure {
  data: Record<string, Trace>;
  layout: Layout;
  /** What it shows, in words; some sections say it themselves. */
  alt?: string;
}
/** As much of plotly as is used. */
export interface Plotly {
  react(
    place: HTMLElement,
    traces: object[],
    layout: object,
    config: { displayModeBar: boolean; responsive?: boolean },
  ): Promise<unknown>;
  downloadImage(figure: Drawing, options: object): Promise<string>;
}
