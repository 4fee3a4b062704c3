// A run as the data of a file that replays it, and the button that saves such a file. Lines of JSON
// are compressed and encoded with characters that have no meaning in HTML.

import { save } from "../shared/picture.js";
import { there } from "../shared/there.js";
import { Button } from "../shared/view.js";
import { parseLines } from "../shared/job.js";
import { notice } from "./live.js";
import { reel } from "./reel.js";
import { stage } from "./stage.js";

/** @import { Link } from "./cursor.js" */
/** @import { Line, RunLine } from "./lines.py" */
/**
 * at: Where the replay starts; null for the beginning. show: The only parts that are shown; all if
 * empty. version: Of a run's file; see run_file.py.
 * @typedef {{ version: number, lines: string, at: Link | null, show: string[] }} ReplayData
 */

/** @param {Line[]} lines @returns {Promise<string>} */
async function pack(lines) {
  const text = new Blob([lines.map((line) => JSON.stringify(line)).join("\n")]);
  const packed = text.stream().pipeThrough(new CompressionStream("gzip"));
  const reader = new FileReader();
  const read = new Promise((done) => reader.addEventListener("load", done));
  reader.readAsDataURL(await new Response(packed).blob());
  await read;
  return String(reader.result).split(",")[1];
}

/** @param {string} packed @returns {Promise<Line[]>} */
export async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const text = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return parseLines(await new Response(text).text());
}

/**
 * Return a live run as a recorded one, without entries that were only valid at its time.
 * @param {Line[]} lines @returns {Line[]}
 */
export const recorded = (lines) =>
  lines
    .filter(({ kind }) => kind !== "error" && kind !== "state")
    .map((line) => (line.kind === "run" ? asRecorded(line) : line));

/** @param {RunLine} run @returns {RunLine} */
const asRecorded = (run) => ({ ...run, source: "recorded", again: "", file: undefined });

export const PLACE = 'id="sv-run">'; // in the file without its run, where the run's data go

// Save the run on screen, up to its last received line.
async function saveRun() {
  const answer = await fetch(stage.config.replay);
  if (!answer.ok) return notice("The server did not send the file. Try again.");
  const [before, after] = (await answer.text()).split(PLACE);
  const { version } = stage.config.files;
  /** @type {ReplayData} */
  const data = { version, lines: await pack(recorded(reel.lines)), at: null, show: [] };
  const whole = before + PLACE + JSON.stringify(data) + after;
  return save(new Blob([whole], { type: "text/html" }), `specviz-${nameOfRun()}.html`);
}

/** What a file with the run on screen is called. */
export function nameOfRun() {
  const { source, id, file } = there(reel.run);
  if (file) return "run";
  return source === "recorded" ? id : "live-run";
}

/** The button that saves the run on screen as a page, which needs no server. */
export const SaveRun = () =>
  SaveButton(
    "Save the run as a page",
    "One file with this run and the player, which opens without a network",
    saveRun,
  );

/** @param {string} label @param {string} title @param {() => void} saving */
export function SaveButton(label, title, saving) {
  return Button(label, () => reel.run && saving(), { class: "sv-link", title });
}
