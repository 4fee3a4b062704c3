// Load recorded races, and receive live races as a stream.

import { meaning, write } from "../../shared/dom.js";
import { Job } from "../../shared/job.js";
import { remember } from "./address.js";
import { tellTime } from "./axis.js";
import { showResult } from "./badge.js";
import { showBars } from "./bars.js";
import { pause, present, show, showSpeed, time, wind } from "./clock.js";
import { hands } from "./hands.js";
import { fillLane, showLanes } from "./lanes.js";
import { feed, longest, story } from "./lines.js";
import { showNow } from "./now.js";
import { $, stage } from "./stage.js";

/** @import { Line, RaceLine } from "./data.js" */

export const EMPTY = "Choose the drafters, write a prompt and press Run live.";
let awaited = ""; // the notice that the race's first line removes

/** @param {string} sentence @param {string} [numbers] */
export function notice(sentence, numbers) {
  write($(".sv-race-notice"), sentence, numbers);
  $(".sv-race-notice").hidden = !sentence;
}

/** @type {Job<Line>} */
export const job = new Job({
  kind: "race",
  words: {
    asking: "Sending the race to the server.",
    dropping: "Stopping.",
    stopping: "Stopping after this round.",
    stopped: "Stopped. Everything measured so far is kept.",
    unbegun: "Stopped before it started.",
    untaken: "The server did not accept this race. Try again.",
    lost: "The connection to the server was lost. What was received is kept; try the race again.",
  },
  waits: { loading: "Loading the models.", racing: "" },
  turn(under) {
    if (under) {
      pause();
      hands.due = false;
    }
    document.body.classList.toggle("sv-racing", under);
  },
  wait(sentence, numbers) {
    notice(sentence, numbers);
    awaited = job.stopping ? "" : $(".sv-race-notice").textContent;
  },
  end(sentence, told) {
    notice(sentence);
    if (told || !job.begun) return;
    story.over = true; // what was received can be replayed
    onLines([]);
  },
});

/** @param {Line} line */
function onLine(line) {
  if (line.kind === "error") notice(line.sentence);
  else if (line.kind === "state") job.state(line);
}

export const news = {
  line: onLine,
  race: onRace,
  lines: onLines,
};

/** @param {RaceLine} race */
function onRace(race) {
  pause();
  hands.due = false;
  wind(0); // no lane has ended yet
  $(".sv-race-top").hidden = true;
  if (!job.number || race.source === "recorded" || $(".sv-race-notice").textContent === awaited)
    notice("");
  $(".sv-race").dataset.from = race.source;
  document.body.classList.toggle("sv-races-live", race.source === "live");
  if (race.source !== "recorded") remember("");
  $(".sv-race .sv-badge").textContent = race.source;
  $(".sv-race .sv-badge").title = meaning(race.source);
  $(".sv-race .sv-where").textContent = [race.where, race.said].filter(Boolean).join(" · ");
  showLanes();
}

// New lines of a race: draw the lanes that have ended, and replay the race once it is over.
/** @param {Line[]} told */
function onLines(told) {
  for (const name of story.lanes.keys()) fillLane(name);
  showNow();
  if (told.some((line) => line.kind === "ended")) redraw(longest());
  showResult();
  if (!story.over) return;
  showSpeed();
  if (story.lanes.size) present();
}

// Draw bars and animations at the current width, at this moment of the replay.
/** @param {number} seconds */
export function redraw(seconds) {
  $(".sv-race-top").hidden = false;
  hands.width = $(".sv-race-ticks").clientWidth;
  showBars();
  wind(seconds);
  show(time());
  tellTime(time());
}

// Show a recorded race; returns its first line, or nothing if it cannot be read.
/** @param {string} name */
export async function load(name) {
  pause();
  const answer = await fetch(stage.config.races + encodeURIComponent(name)).catch(() => null);
  if (!answer?.ok) {
    notice(
      "This recorded race could not be read. " +
        (answer && answer.status === 422 ? await answer.text() : ""),
    );
    return undefined;
  }
  const text = await answer.text();
  job.wanted = 0;
  story.text = "";
  feed(text);
  remember(name);
  return story.race;
}

// Receive the whole output of a live race so far.
/** @param {string | null} text */
export function hear(text) {
  if (text && job.hear(text).length) feed(text);
}
