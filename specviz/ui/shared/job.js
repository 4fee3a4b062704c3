// A live job: the page numbers it, the server sends append-only lines of JSON about it. A section has
// at most one job at a time; its texts and callbacks are the section's `face`.

import { watchServer } from "./page.js";

/** @import { JobLine, StateLine } from "./data.js" */

/**
 * @typedef {object} Face
 * @property {string} kind Of the job's first own line; those before it are states.
 * @property {Record<"asking" | "dropping" | "stopping" | "stopped" | "unbegun" | "untaken" | "lost", string>} words
 * @property {Record<string, string>} waits What the visitor waits for, by the server's state.
 * @property {(under: boolean) => void} turn A job has begun, or is over.
 * @property {(sentence: string, numbers?: string) => void} wait Says what the visitor waits for; numbers: see `write`.
 * @property {(sentence: string, told: boolean) => void} end Says how the job ended; told: by the server.
 */
/** @param {number | undefined} seconds An estimate; undefined where the server has none. */
const about = (seconds) => (seconds === 1 ? "about 1 second" : `about ${seconds} seconds`);

/** @param {number | undefined} place @param {number | undefined} seconds */
const inQueue = (place, seconds) =>
  "In the queue: " +
  (place === 1 ? "1 run" : place + " runs") +
  " before yours" +
  (seconds ? `, ${about(seconds)}.` : ".");

/** @param {number | undefined} place @param {number | undefined} seconds */
const takingTurns = (place, seconds) =>
  "Taking turns with " +
  (place === 1 ? "1 other run" : place + " other runs") +
  (seconds ? `: ${about(seconds)} between two turns.` : ".");

/** @param {number} seconds @param {boolean} begun */
const overdue = (seconds, begun) =>
  "Ended after " +
  (seconds % 60 ? seconds + " seconds" : seconds === 60 ? "1 minute" : seconds / 60 + " minutes") +
  ", the limit for one job here. " +
  (begun ? "What was finished is kept." : "There was no result yet.");

/** What a load does now. @param {StateLine} line */
const loading = ({ model, stage = "" }) =>
  model ? `Loading ${model}: ${stage}.` : `${stage.charAt(0).toUpperCase()}${stage.slice(1)}.`;

/** @param {number} bytes */
const megabytes = (bytes) => Math.round(bytes / 1e6).toLocaleString("en");

/** How far the stage of a load is. @param {StateLine} line */
function howFar({ done = 0, of = 0, left, spent = 0 }) {
  const parts = [
    of && `${megabytes(done)} of ${megabytes(of)} MB`,
    left !== undefined ? `${about(left)} left` : spent > 1 && `${spent} seconds so far`,
  ].filter(Boolean);
  return parts.length ? ` ${parts.join(", ")}.` : "";
}

/** @param {number | undefined} seconds */
const borrowing = (seconds) => `Requesting a GPU for at most ${seconds} seconds.`;

/**
 * The lines, parsed, by which a text has grown; all of them where it does not go on from `before`.
 * @template {JobLine} Line
 * @param {string} text
 * @param {string} before
 * @returns {Line[]}
 */
export function newLines(text, before) {
  const fresh = before && text.startsWith(before) ? text.slice(before.length) : text;
  return fresh
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

/** Whether this line is a job's last. @param {JobLine} line */
export const isLast = ({ kind, state }) =>
  kind === "error" ||
  (kind === "state" && (state === "done" || state === "stopped" || state === "overdue"));

/** @template {JobLine} Line */
export class Job {
  /** @param {Face} face */
  constructor(face) {
    this.face = face;
    this.number = 0; // of the job under way; 0 when there is none
    this.wanted = 0; // the job to show; 0 once something recorded was chosen instead
    this.text = ""; // what came of it
    this.begun = false; // its own first line has come
    this.over = false; // its last line has come
    this.stopping = false; // the visitor asked for its end
  }

  /** Starts a job, unless one is under way. Returns its number, for the server. */
  begin() {
    if (!this.number) {
      this.number = Date.now();
      this.text = "";
      this.begun = this.over = this.stopping = false;
      this.face.turn(true);
      this.face.wait(this.face.words.asking);
      const mine = this.number;
      watchServer(
        () => this.number === mine,
        () => this.ended(),
      );
    }
    if (this.wanted !== this.number) this.text = ""; // all of it is wanted again
    this.wanted = this.number;
    return this.number;
  }

  /** Asks for its end. Returns the number of the job that the server should stop. */
  stop() {
    if (!this.number) return 0;
    this.stopping = true;
    this.face.wait(this.begun ? this.face.words.stopping : this.face.words.dropping);
    return this.number;
  }

  /** The server is done with the job, however it went. */
  ended() {
    if (!this.number) return;
    const mine = this.wanted === this.number;
    const { stopped, lost, untaken } = this.face.words;
    this.number = 0;
    this.face.turn(false);
    if (mine && !this.over)
      this.face.end(this.stopping ? stopped : this.text ? lost : untaken, false);
  }

  /**
   * The lines that are new in a text, if it is of the job that is wanted.
   * @param {string | null} text
   * @returns {Line[]}
   */
  hear(text) {
    if (!text || !this.wanted) return [];
    /** @type {Line[]} */
    const lines = newLines(text, this.text);
    if (
      !lines.length ||
      lines.some((line) => line.id !== undefined && Number(line.id) !== this.wanted)
    )
      return [];
    this.text = text;
    this.begun ||= lines.some((line) => line.kind === this.face.kind);
    this.over = isLast(lines[lines.length - 1]);
    return lines;
  }

  /** Says what a state means to the visitor. @param {StateLine} line */
  state(line) {
    const { state, place, seconds } = line;
    const { stopped, unbegun } = this.face.words;
    if (state === "stopped") this.face.end(this.begun ? stopped : unbegun, true);
    else if (state === "overdue") this.face.end(overdue(seconds ?? 0, this.begun), true);
    else if (this.stopping && state !== "done") return;
    else if (state === "queued")
      this.face.wait((this.begun ? takingTurns : inQueue)(place, seconds));
    else if (state === "resumed") this.face.wait("");
    else if (state === "lending") this.face.wait(borrowing(seconds));
    else if (state === "loading" && line.stage) this.face.wait(loading(line), howFar(line));
    else if (state in this.face.waits) this.face.wait(this.face.waits[state]);
  }
}
