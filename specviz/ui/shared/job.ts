// A live job: the page numbers it, and its lines of JSON arrive as server-sent events, each once. A
// section has at most one job at a time; the section gives its words and callbacks.

import { byId } from "./dom";
import { own } from "./own";
import { randomKey, session } from "./storage";
import { SERVER } from "./server";

import type { StateLine } from "../stream.py";

// The page's own key, which tells the server whose job it is; a reloaded page keeps it.
const PAGE = session.get("sv-page") ?? randomKey();
session.set("sv-page", PAGE);
const ADDRESS = new URL("jobs/" + PAGE + "/", SERVER);
const PATIENCE = 8000; // milliseconds without a connection after which the server counts as lost
const LEAVING = 300; // the same if the connection was closed, as when a page is left
const KEPT = "sv-job-"; // the number of the job under way, by kind, for the visit

// What the page says about any job.
const WORDS = {
  asking: "Sending the request to the server.",
  dropping: "Stopping.",
  stopping: "Stopping after the current step.",
  stopped: "Stopped. What was finished is kept.",
  unbegun: "Stopped before it started.",
  untaken: "The server did not accept the request. Try again.",
  lost: "The connection to the server was lost. What was received is kept.",
};
const LOADING = "Loading the models.";

/** Close the settings, so that what was started is in view. */
export function closeSettings(id: string) {
  const open: HTMLElement | null | undefined = byId(id)?.querySelector(
    "button[aria-expanded=true]",
  );
  open?.click();
}

/** Return whether the page was reloaded, not opened by a link. */
export function isReloaded() {
  const [arrival] = performance.getEntriesByType("navigation");
  return arrival instanceof PerformanceNavigationTiming && arrival.type === "reload";
}

/** Any line of a job. */
export type JobLine = { kind: string; id?: string; state?: string };
export interface JobCallbacks<Line extends JobLine = JobLine> {
  /** The kind of the job's first line that is not a state. */
  kind: string;
  /** Whose job it is, where several have the same kind. */
  name?: string;
  /** The section's own words instead of WORDS. */
  words?: Partial<typeof WORDS>;
  /** What the visitor waits for, by the server's state, besides loading. */
  waits: Record<string, string>;
  /** Called when a job begins (under: true) and when it ends. */
  turn: (under: boolean) => void;
  /** Says what the visitor waits for; numbers: see `Sentence`. */
  wait: (sentence: string, numbers?: string) => void;
  /** Says how the job ended; told: by the server. */
  end: (sentence: string, told: boolean) => void;
  /** Shows new lines of the job. */
  take: (lines: Line[]) => void;
}
/** @param seconds An estimate; undefined where the server has none. */
const about = (seconds: number | undefined) =>
  seconds === 1 ? "about 1 second" : `about ${seconds} seconds`;

const inQueue = (place: number | undefined, seconds: number | undefined) =>
  "In the queue: " +
  (place === 1 ? "1 run" : place + " runs") +
  " before yours" +
  (seconds ? `, ${about(seconds)}.` : ".");

const takingTurns = (place: number | undefined, seconds: number | undefined) =>
  "Taking turns with " +
  (place === 1 ? "1 other run" : place + " other runs") +
  (seconds ? `: ${about(seconds)} between two turns.` : ".");

const overdue = (seconds: number, begun: boolean) =>
  "Ended after " +
  (seconds % 60 ? seconds + " seconds" : seconds === 60 ? "1 minute" : seconds / 60 + " minutes") +
  ", the limit for one job here. " +
  (begun ? "What was finished is kept." : "There was no result yet.");

/** Return what a load is doing now, as text. */
const loading = ({ model, stage = "" }: StateLine) =>
  model ? `Loading ${model}: ${stage}.` : `${stage.charAt(0).toUpperCase()}${stage.slice(1)}.`;

const megabytes = (bytes: number) => Math.round(bytes / 1e6).toLocaleString("en");

/** Return the progress of the current stage of a load, as text. */
function howFar({ done = 0, of = 0, left, spent = 0 }: StateLine) {
  const parts = [
    of && `${megabytes(done)} of ${megabytes(of)} MB`,
    left !== undefined ? `${about(left)} left` : spent > 1 && `${spent} seconds so far`,
  ].filter(Boolean);
  return parts.length ? ` ${parts.join(", ")}.` : "";
}

const borrowing = (seconds: number | undefined) =>
  `Requesting a GPU for at most ${seconds} seconds.`;

/** Parse the lines of a recording. */
export const parseLines = <Line extends JobLine>(text: string): Line[] =>
  text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));

/** Return whether this is the last line of a job. */
export const isLast = ({ kind, state }: JobLine) =>
  kind === "error" ||
  (kind === "state" && (state === "done" || state === "stopped" || state === "overdue"));

export class Job<Line extends JobLine> {
  #source: EventSource | null = null;
  #lost = 0; // the timer that ends a job without a connection

  callbacks: JobCallbacks<Line>;
  #words: typeof WORDS;
  #kept: string;
  number = 0; // number of the current job; 0 if there is none
  wanted = 0; // number of the job to show; 0 after something recorded was chosen instead
  count = 0; // number of lines received
  begun = false; // whether the first line of its own was received
  over = false; // whether its last line was received
  stopping = false; // whether the visitor has stopped it
  /** What Gradio's event handlers call. */
  verbs = { begin: () => this.begin(), stop: () => this.stop(), ended: () => this.ended() };

  constructor(callbacks: JobCallbacks<Line>) {
    this.callbacks = callbacks;
    this.#words = { ...WORDS, ...callbacks.words };
    this.#kept = KEPT + (callbacks.name ?? callbacks.kind);
  }

  /** Begin a job and listen to it; return its name, with which the server has to start it. */
  begin() {
    this.#listen(Math.max(Date.now(), this.number + 1), 0, ""); // the server waits for its start
    this.callbacks.wait(this.#words.asking);
    session.set(this.#kept, String(this.number));
    return [PAGE, this.number];
  }

  /**
   * Continue the job that was active when the page was reloaded.
   * @param count Lines of it that the page has kept.
   * @returns Whether there is one.
   */
  resume(count: number = 0): boolean {
    const number = isReloaded() ? Number(session.get(this.#kept)) : 0;
    session.set(this.#kept, number ? String(number) : undefined);
    if (number) this.#listen(number, count, "?from=" + count);
    return number > 0;
  }

  #listen(number: number, count: number, cursor: string) {
    if (this.number) this.#end();
    this.number = this.wanted = number;
    this.count = count;
    this.begun = count > 0;
    this.over = this.stopping = false;
    this.callbacks.turn(true);
    const source = new EventSource(new URL(number + "/lines" + cursor, ADDRESS));
    source.onmessage = ({ data }) => this.hear(parseLines(data));
    source.onopen = () => this.#connected();
    source.onerror = () => {
      const closed = source.readyState === EventSource.CLOSED;
      if (closed) this.#connected();
      this.#lost ||= setTimeout(() => this.ended(), closed ? LEAVING : PATIENCE);
    };
    this.#source = source;
  }

  #connected() {
    clearTimeout(this.#lost);
    this.#lost = 0;
  }

  /** Request that the job ends. */
  stop() {
    if (!this.number) return;
    this.stopping = true;
    this.callbacks.wait(this.begun ? this.#words.stopping : this.#words.dropping);
    fetch(new URL(this.number + "/stop", ADDRESS), { method: "POST" }).catch(() => {});
  }

  /** No more lines will come, however the job ended. */
  ended() {
    if (!this.number) return;
    const mine = this.wanted === this.number;
    const { stopped, lost, untaken } = this.#words;
    this.#end();
    this.callbacks.turn(false);
    if (mine && !this.over)
      this.callbacks.end(this.stopping ? stopped : this.count ? lost : untaken, false);
  }

  #end() {
    this.#source?.close();
    this.#connected();
    this.number = 0;
    session.set(this.#kept);
  }

  /** Process new lines. */
  hear(lines: Line[]) {
    this.count += lines.length;
    this.begun ||= lines.some((line) => line.kind === this.callbacks.kind);
    this.over = lines.some(isLast);
    if (this.number && this.wanted === this.number) this.callbacks.take(lines);
    if (this.over) this.ended();
  }

  /** Show the visitor what a status means. */
  state(line: StateLine) {
    const { state, place, seconds } = line;
    const { stopped, unbegun } = this.#words;
    if (state === "stopped") this.callbacks.end(this.begun ? stopped : unbegun, true);
    else if (state === "overdue") this.callbacks.end(overdue(seconds ?? 0, this.begun), true);
    else if (this.stopping && state !== "done") return;
    else if (state === "queued")
      this.callbacks.wait((this.begun ? takingTurns : inQueue)(place, seconds));
    else if (state === "resumed") this.callbacks.wait("");
    else if (state === "lending") this.callbacks.wait(borrowing(seconds));
    else if (state === "loading" && line.stage) this.callbacks.wait(loading(line), howFar(line));
    else this.#waitFor(state);
  }

  /** Say what the visitor waits for, if the section has a text for it. */
  #waitFor(state?: string) {
    const text = own({ loading: LOADING, ...this.callbacks.waits }, state);
    if (text !== undefined) this.callbacks.wait(text);
  }
}
