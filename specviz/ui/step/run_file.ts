// Runs as files: writing one, and reading one that a visitor opens. It is read here and sent nowhere.
// Its lines are compared with the shapes that Python derives from their types (run_file.py) before
// any is shown, so what is refused changes nothing on the page.

import { PLACE } from "../shared/offline";
import { save } from "../shared/picture";
import { readSettings } from "./live_link";
import { merged, reel } from "./reel";
import { nameOfRun, recorded, SaveButton } from "./replay_file";
import { stage } from "./stage";

import type { Line, RoundLine } from "./lines.py";
import type { FileHeader, FileShape } from "./run_file.py";
import type { ReplayData } from "./replay_file";
/** The shape of a value; see run_file.py. */
export type Shape =
  | string
  | {
      is?: unknown[];
      list?: Shape;
      map?: Shape;
      tuple?: Shape[];
      either?: Shape[];
      record?: string;
    };

/** Why a file is not opened, in a sentence for the visitor. */
export class Refused extends Error {}

const megabytes = (bytes: number) => `${Math.ceil(bytes / 1e6)} MB`;

/** Saves the run on screen as a file that this page can open again. */
export const SaveRunFile = () =>
  SaveButton("Save it as a file", "This run as a file, which this page can open again", saveFile);

async function saveFile() {
  const { format, version } = stage.config.files;
  const lines = recorded(reel.lines);
  const first = { format, version, lines: lines.length };
  const text = [first, ...lines].map((line) => JSON.stringify(line) + "\n").join("");
  const packed = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return save(await new Response(packed).blob(), `specviz-${nameOfRun()}.jsonl.gz`);
}

/** The lines of a run's file, or of a page that replays a run. */
export async function readRun(file: File): Promise<Line[]> {
  const { limits } = stage.config.files;
  if (file.size > limits.file)
    throw new Refused(
      `It has ${megabytes(file.size)}; a run's file may have ${megabytes(limits.file)}.`,
    );
  if (!file.size) throw new Refused("It is empty.");
  const bytes = new Uint8Array(await file.arrayBuffer());
  const text = await textOf(bytes);
  const page = /^\s*<!doctype html/i.test(text);
  const lines = page ? await linesOfPage(text) : linesOfFile(text);
  checkLines(lines, await fetchShape());
  return lines.map((line) =>
    line.kind === "run" ? { ...line, settings: readSettings(line.settings) } : line,
  );
}

const textOf = (bytes: Uint8Array<ArrayBuffer>) =>
  bytes[0] === 0x1f && bytes[1] === 0x8b ? unpacked(bytes) : decoded([bytes]);

async function decoded(parts: Uint8Array<ArrayBuffer>[]) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await new Blob(parts).arrayBuffer());
  } catch {
    throw new Refused("It is not text.");
  }
}

// A small file may unpack to any size, so this stops at the limit.
async function unpacked(bytes: Uint8Array<ArrayBuffer>) {
  const most = stage.config.files.limits.run;
  const reader = new Blob([bytes])
    .stream()
    .pipeThrough(new DecompressionStream("gzip"))
    .getReader();
  const parts = [];
  let size = 0;
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      parts.push(part.value);
      size += part.value.length;
      if (size > most) break;
    }
  } catch {
    throw new Refused("It is compressed, but damaged or cut off.");
  }
  if (size <= most) return decoded(parts);
  reader.cancel();
  throw new Refused(`Its run has more than ${megabytes(most)} once it is unpacked.`);
}

async function linesOfPage(text: string) {
  const start = text.lastIndexOf(PLACE);
  if (start < 0) throw new Refused("It is a page without a run.");
  const end = text.indexOf("</script>", start);
  if (end < 0) throw new Refused("It is cut off.");
  const data = parsed(text.slice(start + PLACE.length, end));
  if (data === undefined) throw new Refused("It is a page without a run.");
  const { lines, version }: Partial<ReplayData & { lines: string }> = Object(data);
  checkVersion(version ?? 0);
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = Uint8Array.from(atob(String(lines)), (letter) => letter.charCodeAt(0));
  } catch {
    throw new Refused("Its run is damaged.");
  }
  return (await unpacked(bytes)).split("\n").filter(Boolean).map(parsedLine);
}

function linesOfFile(text: string) {
  const { format } = stage.config.files;
  const [first, ...rest] = text.split("\n").filter((line) => line.trim());
  const head = Object(parsed(first ?? "")) as Partial<FileHeader>;
  if (head.format === "specviz-trace")
    throw new Refused(
      "It is a trace, which this page cannot draw. Make a page from it with `specviz export`, and open that page here.",
    );
  if (head.format !== format)
    throw new Refused(
      parsed(first ?? "") === undefined ? "It is not JSON." : "It is JSON, but not a saved run.",
    );
  checkVersion(head.version);
  const count = head.lines;
  if (!Number.isInteger(count)) throw new Refused("It does not say how many lines it has.");
  if (rest.length < Number(count) || parsed(rest.at(-1) ?? "") === undefined)
    throw new Refused(`It is cut off: ${rest.length} of ${count} lines are here.`);
  if (rest.length > Number(count)) throw new Refused("It has more lines than it says.");
  return rest.map(parsedLine);
}

function checkVersion(version: unknown) {
  const known = stage.config.files.version;
  if (version === known) return;
  if (typeof version === "number" && version > known)
    throw new Refused("It was saved by a newer version of specviz.");
  throw new Refused("It was saved by an older version of specviz.");
}

// The key "__proto__" would change the prototype of an object.
function safe(key: string, value: unknown) {
  if (key === "__proto__") throw new Refused("It contains a name that no run has: __proto__.");
  return value;
}

/** @returns The value; undefined if the text is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text, safe);
  } catch (problem) {
    if (problem instanceof Refused) throw problem;
    return undefined;
  }
}

function parsedLine(text: string, at: number) {
  const line = parsed(text);
  if (line === undefined) throw new Refused(`Line ${at + 1} of its run is not JSON.`);
  return line as Line;
}

let fetched: Promise<FileShape> | null = null;

function fetchShape() {
  fetched ??= fetch(new URL(stage.config.files.shape, document.baseURI)).then((answer) => {
    if (answer.ok) return answer.json();
    throw new Error();
  });
  return fetched.catch(() => {
    fetched = null;
    throw new Refused("The server did not say what a run contains. Try again.");
  });
}

/** Refuses lines that the player could not show. */
function checkLines(lines: Line[], shape: FileShape) {
  const checker = new Checker(shape.records, stage.config.files.limits.values);
  let round: RoundLine | null = null; // the last one
  for (const [at, line] of lines.entries()) {
    const { kind } = Object(line);
    const known = (kind === "run") === (at === 0) && Object.hasOwn(shape.lines, kind);
    let fault = known ? checker.fault(line, shape.lines[kind], kind) : "kind";
    if (fault === null && line.kind === "round") round = line;
    fault ??= firstFault(framesOf(line, round), checker, shape.frame);
    if (fault !== null) throw new Refused(`Line ${at + 1} of its run is wrong: ${fault}.`);
  }
  if (!round) throw new Refused("It has no round to show.");
}

function firstFault(frames: Iterable<[string, object]>, checker: Checker, shape: Shape) {
  for (const [name, frame] of frames) {
    const fault = checker.fault(frame, shape, name);
    if (fault !== null) return fault;
  }
  return null;
}

/**
 * The frames that a line's patches make, by name.
 * @param round The last one, to which the end of a run belongs.
 */
function* framesOf(line: Line, round: RoundLine | null): Generator<[string, object]> {
  if (line.kind === "round") yield* framesOfRound(line);
  if ("end" in line && line.end) yield ["end", round ? merged(round.first, line.end) : {}];
}

function* framesOfRound({ first, then, asks }: RoundLine): Generator<[string, object]> {
  const frameAt = (step: number) => (step ? merged(first, then[step - 1]) : first);
  for (const at of then.keys()) yield [`then.${at}`, frameAt(at + 1)];
  for (const [step, patch] of Object.entries(asks)) {
    const known = /^[0-9]+$/.test(step) && Number(step) > 0 && Number(step) <= then.length;
    yield [`asks.${step}`, known ? merged(frameAt(Number(step) - 1), patch) : {}];
  }
}

/** Compares values with shapes. */
class Checker {
  #left; // values that may still be compared
  #fine: WeakMap<object, Set<Shape>> = new WeakMap(); // frames share most of their objects, which are compared once

  records: FileShape["records"];

  constructor(records: FileShape["records"], most: number) {
    this.records = records;
    this.#left = most;
  }

  /** Where a value differs from a shape; null if nowhere. */
  fault(value: unknown, shape: Shape, where: string): string | null {
    this.#left -= 1;
    if (this.#left < 0) throw new Refused("It is too large to be checked.");
    if (typeof shape === "string") return PLAIN[shape](value) ? null : where;
    if (shape.is) return shape.is.includes(value) ? null : where;
    if (shape.either) {
      const found = shape.either.map((each) => () => this.fault(value, each, where));
      return found.some((look) => look() === null) ? null : where;
    }
    if (typeof value !== "object" || value === null) return where;
    const done = this.#fine.get(value) ?? new Set();
    if (done.has(shape)) return null;
    const fault = this.#inside(value, shape, where);
    if (fault === null) this.#fine.set(value, done.add(shape));
    return fault;
  }

  #inside(value: object, { list, tuple, map, record }: Exclude<Shape, string>, where: string) {
    if (Array.isArray(value) !== Boolean(list || tuple)) return where;
    if (tuple && Object.keys(value).length !== tuple.length) return where;
    if (!record) return this.#parts(value, (name) => list ?? map ?? tuple?.[Number(name)], where);
    const { fields, may } = this.records[record];
    const lacking = Object.keys(fields).find(
      (name) => !Object.hasOwn(value, name) && !may.includes(name),
    );
    return lacking
      ? `${where}.${lacking}`
      : this.#parts(
          value,
          (name) => (Object.hasOwn(fields, name) ? fields[name] : undefined),
          where,
        );
  }

  #parts(value: object, shapeOf: (name: string) => Shape | undefined, where: string) {
    for (const [name, part] of Object.entries(value)) {
      const shape = shapeOf(name);
      const fault = shape ? this.fault(part, shape, `${where}.${name}`) : `${where}.${name}`;
      if (fault !== null) return fault;
    }
    return null;
  }
}

const PLAIN: Record<string, (value: unknown) => boolean> = {
  string: (value) => typeof value === "string",
  escaped: (value) => typeof value === "string" && !/[<>]/.test(value), // plotly reads markup
  number: (value) => typeof value === "number" && Math.abs(value) < 1e6,
  integer: (value) => Number.isInteger(value) && Math.abs(Number(value)) < 1e9,
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
  any: () => true,
};
