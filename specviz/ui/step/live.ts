// The live run: notices while it waits, and at its end.

import { closeSettings, Job } from "../shared/job";
import { render, Sentence } from "../shared/view";
import { feed, player } from "./state";
import { $ } from "./stage";

import type { ComponentChild } from "preact";
import type { Line } from "./lines.py";

export const STOPPED = "Stopped. Finished rounds are kept.";
let awaited = ""; // the notice that the first round takes away
let ended: string | null = ""; // why the last run ended

export function notice(sentence: string, numbers?: string, action?: ComponentChild) {
  render([...Sentence(sentence, numbers), action ? [" ", action] : null], $(".sv-notice"));
  $(".sv-notice").hidden = !sentence;
}

// Close the settings and scroll, so that the run starts at the top of the window.
export function bringIntoView() {
  closeSettings("sv-settings");
  const { top } = $(".sv").getBoundingClientRect();
  if (top < 0 || top > innerHeight / 2) $(".sv").scrollIntoView({ block: "start" });
}

export const job: Job<Line> = new Job({
  kind: "run",
  words: {
    stopping: "Stopping after this round.",
    stopped: STOPPED,
    lost: "The connection to the server was lost before the run ended. Finished rounds are kept; run it again.",
  },
  waits: {
    drafting: "Drafting.",
    repeating: "Repeating this run until its times are stable, for at most a minute.",
  },
  turn(under) {
    document.body.classList.toggle("sv-running", under);
    document.body.classList.toggle("sv-awaits", under);
    if (under) bringIntoView();
  },
  wait(sentence, numbers) {
    notice(sentence, numbers);
    awaited = job.stopping ? "" : $(".sv-notice").textContent;
  },
  end: (sentence) => tellEnd(sentence),
  take: (lines) => feed(lines),
});

/** Say why a run ended, or did not start. */
export function tellEnd(sentence: string) {
  notice(sentence);
  ended = $(".sv-notice").textContent;
}

/** Remove why the last run ended, since the form asks for another by now. */
export function forgetEnd() {
  if (ended && $(".sv-notice").textContent === ended) notice("");
  ended = "";
}

export const waiting = () => player.shown === "live" && job.number > 0 && !player.finished;

// The first round has arrived: remove the waiting notice, and show the run.
export function showFirstRound() {
  document.body.classList.remove("sv-awaits");
  if ($(".sv-notice").textContent === awaited) notice("");
}
