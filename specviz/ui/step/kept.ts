// Show a live run again after a reload, and continue it if it had not ended. Its lines are stored for
// this visit: the server forgets a run that has ended, and Gradio reloads the page when a server that
// was unavailable responds again, which then does not know the run.

import { isReloaded } from "../shared/job";
import { session } from "../shared/storage";
import { feed, player } from "./state";
import { job } from "./live";

import type { Line, RunLine } from "./lines.py";

const KEY = "sv-kept-run";

export function keepRun() {
  addEventListener("pagehide", () => {
    if (player.shown !== "live" || !player.rounds.length) return;
    // If this is more than the browser can store, all lines are sent again.
    session.set(KEY, JSON.stringify({ lines: player.lines, count: job.count }));
  });
}

/** Show the stored run and continue it. */
export function resumeRun(): Promise<RunLine> | null {
  const { lines, count } = taken();
  feed(lines);
  if (!job.resume(count)) return lines.length ? Promise.resolve(firstOf(lines)) : null;
  return new Promise((done) => {
    const look = () => (player.run ? done(player.run) : setTimeout(look, 50));
    look();
  });
}

const firstOf = (lines: Line[]) => lines[0] as RunLine;

// Return the stored lines, once, if the page was reloaded.
function taken() {
  const none: { lines: Line[]; count: number } = { lines: [], count: 0 };
  const text = session.get(KEY);
  session.set(KEY);
  try {
    return text && isReloaded() ? JSON.parse(text) : none;
  } catch {
    return none;
  }
}
