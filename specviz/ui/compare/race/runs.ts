// Load recorded races, and receive live races as streams.

import { linkable, noteOfLink } from "../../shared/address";
import { closeSettings, Job, parseLines } from "../../shared/job";
import { keep, takeKept } from "../../shared/kept";
import { Sentence } from "../../shared/view";
import { pause, present, replay, wind } from "./clock";
import { feed, longest, stage, story } from "./lines";
import { redraw, show, view } from "./race_view";

import type { Line, RaceLine } from "./lines.py";

const EMPTY = "Choose the drafters, write a prompt and press Run live.";
const UNREADABLE = "This recorded race could not be read. ";
const NO_LINK = "It opens this tab, without your live race";
const KEPT = "sv-kept-race"; // a live race that has ended, for a reload
let received: Line[] = []; // of the race on screen
let waits = false; // whether the first line of the race removes the notice
let linked = ""; // the recorded race in the page's URL: ?race=2-repeat
let writeLink = () => {};

function link(name: string) {
  linked = name;
  writeLink();
}

export function notify(sentence: string, numbers?: string) {
  view.notice = Sentence(sentence, numbers);
  waits = false;
  show();
}

export const job: Job<Line> = new Job({
  kind: "race",
  words: {
    stopping: "Stopping after this round.",
    lost: "The connection to the server was lost. What was received is kept; try the race again.",
  },
  waits: { racing: "" },
  turn(runs) {
    if (runs) {
      stopReplay();
      closeSettings("sv-raceform-settings");
    }
    document.body.classList.toggle("sv-racing", runs);
  },
  wait(sentence, numbers) {
    notify(sentence, numbers);
    waits = !job.stopping;
  },
  end(sentence, fromServer) {
    notify(sentence);
    if (fromServer || !job.begun) return;
    story.over = true; // what was received so far can be replayed
    onLines([]);
  },
  take: (lines) => feed(lines, job.count === lines.length, listener),
});

function stopReplay() {
  replay.due = false;
  pause();
}

const listener = { line: onLine, race: onRace, lines: onLines };

function onLine(line: Line) {
  if (line.kind === "race") [received, view.strange] = [[], ""];
  if (line.kind !== "state") received.push(line);
  if (line.kind === "hint") view.strange = line.sentence;
  else if (line.kind === "error") notify(line.sentence);
  else if (line.kind === "state") job.state(line);
}

function onRace({ source }: RaceLine) {
  replay.withheld = false;
  stopReplay();
  wind(0); // no lane has ended yet
  if (!job.number || source === "recorded" || waits) notify("");
  document.body.classList.toggle("sv-races-live", source === "live");
  if (source !== "recorded") link("");
}

// Show new lines of a race: draw the lanes that have ended, and replay the race when it is over.
function onLines(lines: Line[]) {
  if (lines.some((line) => line.kind === "ended")) redraw(longest());
  else show();
  if (story.over && story.lanes.size) present();
}

// Show a recorded race; return its first line, or nothing if it cannot be read.
export async function load(name: string) {
  pause();
  const answer = await fetch(stage.config.races + encodeURIComponent(name)).catch(() => null);
  if (!answer?.ok) {
    notify(UNREADABLE + (answer?.status === 422 ? await answer.text() : ""));
    return undefined;
  }
  open(parseLines(await answer.text()));
  link(name);
  return story.race;
}

/** Show a recorded race. */
export function open(lines: Line[]) {
  job.wanted = 0;
  feed(lines, true, listener);
}

/** Shows the race that was on screen when the page was reloaded; whether there was one. */
function showKept() {
  const lines = takeKept<Line[]>(KEPT);
  if (!lines) return false;
  feed(lines, true, listener);
  story.over = true;
  onLines([]);
  return true;
}

/** Show the race that a reload kept, the recorded race that the page's URL names, or the first. */
export function openFirst() {
  writeLink = linkable("race", () => linked, stage.element, true);
  noteOfLink(stage.element, () => (linked || !story.race ? "" : NO_LINK));
  keep(KEPT, () => (story.race?.source === "live" && story.over ? received : null));
  if (showKept()) return undefined;
  const names = stage.config.recorded;
  const named = new URLSearchParams(location.search).get("race") ?? "";
  const first = names.includes(named) ? named : names[0];
  if (first) return load(first);
  notify(EMPTY);
  return undefined;
}
