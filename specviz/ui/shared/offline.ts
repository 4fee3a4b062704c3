// Files that replay a recording without a server (see offline.py): the page saves them, and a part of
// the page starts in them. Lines of JSON are compressed, and written with letters that mean nothing in
// markup.

import { byId } from "./dom";
import { start as startHeader } from "./header";
import { parseLines } from "./job";
import { save } from "./picture";
import { required } from "./required";

import type { JobLine } from "./job";
import type { Start } from "./section";

export const PLACE = 'id="sv-recording">'; // marks where a recording is put into the file

async function pack(lines: JobLine[]): Promise<string> {
  const text = new Blob([lines.map((line) => JSON.stringify(line)).join("\n")]);
  const packed = text.stream().pipeThrough(new CompressionStream("gzip"));
  const reader = new FileReader();
  const read = new Promise((done) => reader.addEventListener("load", done));
  reader.readAsDataURL(await new Response(packed).blob());
  await read;
  return String(reader.result).split(",")[1];
}

/** The lines of a file's recording. */
export async function unpack<Line extends JobLine>(packed: string): Promise<Line[]> {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const text = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return parseLines(await new Response(text).text());
}

/**
 * Saves a file that replays lines; false if the server does not send the file without them.
 * @param address The address of the file without a recording.
 * @param data More data for the script in the file.
 * @param name The name of the file, without its ending.
 */
export async function saveReplay(address: string, lines: JobLine[], data: object, name: string) {
  const answer = await fetch(address).catch(() => null);
  if (!answer?.ok) return false;
  const text = await answer.text();
  const end = text.lastIndexOf(PLACE) + PLACE.length; // the file's script contains PLACE, too
  const recording = JSON.stringify({ ...data, lines: await pack(lines) });
  const parts = [text.slice(0, end), recording, text.slice(end)];
  save(new Blob(parts, { type: "text/html" }), name + ".html");
  return true;
}

/** What is shown if the server did not send a file without a recording. */
export const NO_FILE = "The server did not send the file. Try again.";

/** What is shown if `unpack` fails. */
export const unreadable = (what: string) =>
  `This ${what} could not be read: the file is damaged, or this browser is too old.`;

/** Sets up the page around a part in a file, and returns the part's config and the file's data. */
export function openFile<Config, Data>() {
  document.body.classList.toggle("dark", prefersDark());
  for (const control of document.querySelectorAll("[data-served]")) control.remove();
  startHeader(required(byId("sv-brand")));
  return {
    config: dataOf<Config & { name: string }>("sv-config"),
    data: dataOf<Data & { lines: string }>("sv-recording"),
  };
}

const dataOf = <Data>(id: string): Data => JSON.parse(required(byId(id)?.textContent));

/** Starts a part in a file, which has no events of Gradio. */
export function startInFile<Config>(start: Start<Config>, config: Config & { name: string }) {
  const place = required(byId(config.name));
  window.specviz = { [config.name]: start(place, { value: null }, idle, idle, config) };
}

const idle = () => {};

// JupyterLab, too, says whether it is dark.
function prefersDark() {
  try {
    const light = window.parent.document.body.dataset.jpThemeLight;
    if (light) return light === "false";
  } catch {
    // The browser may forbid a frame to read the page around it.
  }
  return matchMedia("(prefers-color-scheme: dark)").matches;
}
