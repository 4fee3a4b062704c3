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
