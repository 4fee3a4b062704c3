// Show a live run again after a reload, and continue it if it had not ended.

import { keep, takeKept } from "../shared/kept";
import { feed, player } from "./state";
import { job } from "./live";

import type { Line, RunLine } from "./lines.py";

const KEY = "sv-kept-run";
const NONE = { lines: [], count: 0 };

/** Keep the lines of a live run; if they are more than the browser can store, all are sent again. */
export const keepRun = () =>
  keep(KEY, () =>
    player.shown === "live" && player.rounds.length
      ? { lines: player.lines, count: job.count }
      : null,
  );

/** Show the stored run and continue it. */
export function resumeRun(): Promise<RunLine> | null {
  const { lines, count } = takeKept<{ lines: Line[]; count: number }>(KEY) ?? NONE;
  feed(lines);
  if (!job.resume(count)) return lines.length ? Promise.resolve(lines[0] as RunLine) : null;
  return new Promise((done) => {
    const look = () => (player.run ? done(player.run) : setTimeout(look, 50));
    look();
  });
}
