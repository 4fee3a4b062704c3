// A run as the data of a file that replays it, and the button that saves such a file.

import { NO_FILE, saveReplay } from "../shared/offline";
import { required } from "../shared/required";
import { Button } from "../shared/view";
import { notice } from "./live";
import { isSimple } from "./mode";
import { player } from "./state";
import { stage } from "./stage";

import type { Link } from "./state";
import type { Line, RunLine } from "./lines.py";
/**
 * at: Where the replay starts; null for the beginning. show: The only parts that are shown; all if
 * empty. simple: Whether it opens in the mode Simple.
 */
export type ReplayData = { at: Link | null; show: string[]; simple?: boolean };

/** Return a live run as a recorded one, without entries that were only valid at its time. */
export const recorded = (lines: Line[]): Line[] =>
  lines
    .filter(({ kind }) => kind !== "error" && kind !== "state")
    .map((line) => (line.kind === "run" ? asRecorded(line) : line));

const asRecorded = (run: RunLine): RunLine => ({
  ...run,
  source: "recorded",
  again: "",
  file: undefined,
});

// Save the run on screen, up to its last received line.
async function saveRun() {
  const data: ReplayData = { at: null, show: [], simple: isSimple() };
  const name = `specviz-${nameOfRun()}`;
  const saved = await saveReplay(stage.config.replay, recorded(player.lines), data, name);
  if (!saved) notice(NO_FILE);
}

/** Return the name of a file with the run on screen. */
export function nameOfRun() {
  const { source, id, file } = required(player.run);
  if (file) return "run";
  return source === "recorded" ? id : "live-run";
}

/** The button that saves the run on screen as a page, which needs no server. */
export const SaveRun = () =>
  SaveButton(
    "Save the run as a page",
    "This run and the player as one file, which opens without a network",
    saveRun,
  );

export function SaveButton(label: string, title: string, saving: () => void) {
  return Button(label, () => player.run && saving(), { class: "sv-link", title });
}
