// Runs as files: a run's trace, as the command line writes it. A page that replays a run contains
// its trace, too. The server reads and checks the trace of a file that is opened, and keeps nothing.

import { PLACE } from "../shared/offline";
import { parseLines } from "../shared/job";
import { save } from "../shared/picture";
import { readSettings } from "./live_link";
import { player } from "./state";
import { nameOfRun, SaveButton } from "./replay_file";
import { stage } from "./stage";

import type { Line } from "./lines.py";

/** Why a file is not opened, in a sentence for the visitor. */
export class Refused extends Error {}

const megabytes = (bytes: number) => `${Math.ceil(bytes / 1e6)} MB`;

/** Saves the run on screen as a file that this page and the command line can open. */
export const SaveRunFile = () =>
  SaveButton(
    "Save its trace",
    "This run as a trace, which this page, specviz check and Python can open",
    saveFile,
  );

function saveFile() {
  const text = traceOf(player.lines);
  save(new Blob([text], { type: "application/x-ndjson" }), `specviz-${nameOfRun()}.jsonl`);
}

const traceOf = (lines: Line[]) =>
  lines
    .flatMap((line) => ("trace" in line ? line.trace : []))
    .map((text) => text + "\n")
    .join("");

/** The lines of a trace's file, or of a page that replays a run. */
export async function readRun(file: File): Promise<Line[]> {
  const limits = stage.config.files;
  if (file.size > limits.file)
    throw new Refused(
      `It has ${megabytes(file.size)}; a run's file may have ${megabytes(limits.file)}.`,
    );
  if (!file.size) throw new Refused("It is empty.");
  const bytes = new Uint8Array(await file.arrayBuffer());
  const text = await textOf(bytes);
  const page = /^\s*<!doctype html/i.test(text);
  const lines = await linesOf(page ? await traceOfPage(text) : text);
  return lines.map((line) =>
    line.kind === "run" ? { ...line, settings: readSettings(line.settings) } : line,
  );
}

/** Sends a trace to the server, and returns the lines that it makes of it. */
async function linesOf(trace: string): Promise<Line[]> {
  const { address, trace: most } = stage.config.files;
  const body = new Blob([trace]);
  if (body.size > most)
    throw new Refused(`Its trace has more than ${megabytes(most)}; specviz export can show it.`);
  if (/^\s*{"format": ?"specviz-run"/.test(trace))
    throw new Refused("It was saved by an older version of specviz, which did not keep the trace.");
  const answer = await fetch(new URL(address, document.baseURI), { method: "POST", body });
  if (!answer.ok) throw new Refused("The server did not read it. Try again.");
  const lines: Line[] = parseLines(await answer.text());
  const [first] = lines;
  if (first.kind === "error") throw new Refused(first.sentence);
  return lines;
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

const MOST = 30e6; // bytes of a file once it is unpacked: a page has the frames of its run, too

// A small file may unpack to any size, so this stops at the limit.
async function unpacked(bytes: Uint8Array<ArrayBuffer>) {
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
      if (size > MOST) break;
    }
  } catch {
    throw new Refused("It is compressed, but damaged or cut off.");
  }
  if (size <= MOST) return decoded(parts);
  reader.cancel();
  throw new Refused(`Its run has more than ${megabytes(MOST)} once it is unpacked.`);
}

async function traceOfPage(text: string) {
  const start = text.lastIndexOf(PLACE);
  if (start < 0) throw new Refused("It is a page without a run.");
  const end = text.indexOf("</script>", start);
  if (end < 0) throw new Refused("It is cut off.");
  let trace: string;
  try {
    const { lines }: { lines: string } = JSON.parse(text.slice(start + PLACE.length, end));
    const bytes = Uint8Array.from(atob(lines), (letter) => letter.charCodeAt(0));
    trace = traceOf(parseLines(await unpacked(bytes)));
  } catch (problem) {
    throw problem instanceof Refused ? problem : new Refused("Its run is damaged.");
  }
  if (!trace)
    throw new Refused("It was saved by an older version of specviz, which did not keep the trace.");
  return trace;
}
