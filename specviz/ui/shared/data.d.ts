// What every section's data is made of. A word is a list of pieces: see frames/words.py.

/** Text, white space made visible, a byte that is no text, by number, or a special token's name. */
export type Piece =
  | string
  | { g: Glyph; c?: undefined; s?: undefined }
  | { c: string; g?: undefined; s?: undefined }
  | { s: string; c?: undefined; g?: undefined };
export type Glyph = "space" | "newline" | "tab" | "return";
export type Word = Piece[];

/** What became of a token. */
export type State =
  | "waiting"
  | "accepted"
  | "rejected"
  | "unreached"
  | "recovered"
  | "bonus"
  | "plain"
  | "slot";

/** A path of a small drawing, and the class of its style. */
export type Stroke = [path: string, style: string];

export type Source = "recorded" | "live";

/** Why a question has no answer: a sentence, and the input it is about, "" if none. */
export interface Refusal {
  problem: string;
  field: string;
  id?: undefined;
}

/** Of a part of the page: its value is text. */
export interface Props {
  value: string | null;
}
export type Watch = (name: "value", heard: () => void) => void;
export type Trigger = (event: string) => void;
/** What a section's module begins with. */
export type Start<Config> = (
  element: HTMLElement,
  props: Props,
  watch: Watch,
  trigger: Trigger,
  config: Config,
) => void;

/** A run's place on the speed law: see cost/point.py. */
export interface MeasuredPoint {
  alpha: number;
  gamma: number;
  guesses: number;
  c: number;
  verify: number;
  tokens: number;
  speedup: number;
  predicted: number;
}
/** The same, with whose it is. where: target and machine. run: which one, where it was recorded. */
export interface NamedPoint extends MeasuredPoint {
  name: string;
  source: Source;
  where?: string;
  run?: string;
}

/** A trace of a figure as Python tells it: plotly's, and colours as names ("--p"). */
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
}
/** As much of plotly as is used. */
export interface Plotly {
  react(
    place: HTMLElement,
    traces: object[],
    layout: object,
    config: { displayModeBar: boolean; responsive: boolean },
  ): Promise<unknown>;
}

/**
 * A line of a job's state. place: how many runs come first; of a job that has begun, how many others
 * take turns with it. seconds: of "queued", an estimate of the wait.
 */
export interface StateLine {
  kind: "state";
  id: string;
  state: "queued" | "resumed" | "lending" | "done" | "stopped" | "overdue" | (string & {});
  place?: number;
  seconds?: number;
  /** Of "loading": see `load_facts` in stream.py. */
  stage?: string;
  model?: string;
  done?: number;
  of?: number;
  left?: number;
  spent?: number;
}
export interface ErrorLine {
  kind: "error";
  id: string;
  sentence: string;
}
/** Any line of a job's story. */
export interface JobLine {
  kind: string;
  id?: string;
  state?: string;
}
/** Kinds of sections that put their public faces on the window. */
export type Shared = "players" | "races" | "domains" | "sweeps";
/** A section's public face; opened: what is shown first, once it is here. */
export type Section = object & { opened?: Promise<unknown> };

