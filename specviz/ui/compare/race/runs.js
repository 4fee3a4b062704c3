// What arrives: recorded races that are fetched, live races that are streamed.

import { meaning } from "../../shared/dom.js";
import { inLine, knock } from "../../shared/page.js";
import { tellTime } from "./axis.js";
import { showResult } from "./badge.js";
import { showBars } from "./bars.js";
import { pause, present, show, showSpeed, time, wind } from "./clock.js";
import { hands } from "./hands.js";
import { fillLane, showLanes } from "./lanes.js";
import { feed, longest, story } from "./lines.js";
import { showNow } from "./now.js";
import { $, stage } from "./stage.js";

const STOPPED = "Stopped. What was measured stays.";
const UNBEGUN = "Stopped before it began.";
const UNTAKEN = "The server did not take this race. Try again.";
const LOST = "The connection to the server was lost before the race's end. What came stays; race again.";
export const EMPTY = "Choose the drafters, write a prompt and press Run live.";
let number = 0; // of this page's live race; 0 when none is under way
let wanted = 0; // the live race to show; 0 once a recorded one was chosen instead
let heard = 0; // lines of the live race that came from the server: 0, 1 (states only), 2 (the race)
let finished = false; // the live race's last line has come
let stopping = false; // the visitor asked for its end
let awaited = ""; // the notice that the race's first line takes away

export function notice(sentence) {
  $(".sv-race-notice").textContent = sentence;
  $(".sv-race-notice").hidden = !sentence;
}

export function onRace() {
  const { race } = story;
  pause();
  hands.due = false;
  wind(0); // no lane has ended yet
  $(".sv-race-top").hidden = true;
  if (!number || race.source === "recorded" || $(".sv-race-notice").textContent === awaited) notice("");
  $(".sv-race").dataset.from = race.source;
  $(".sv-race .sv-badge").textContent = race.source;
  $(".sv-race .sv-badge").title = meaning(race.source);
  $(".sv-race .sv-where").textContent = [race.where, race.said].filter(Boolean).join(" · ");
  showLanes();
}

// Lines of a race came in: lanes that ended are drawn, and all of it replays once it is over.
export function onLines(told) {
  for (const name of story.lanes.keys()) fillLane(name);
  showNow();
  if (told.some((line) => line.kind === "ended")) redraw(longest());
  showResult();
  if (!story.over) return;
  showSpeed();
  if (story.lanes.size) present();
}

// Bars and hands at this width, and the moment that they stand at.
export function redraw(seconds) {
  $(".sv-race-top").hidden = false;
  hands.width = $(".sv-race-ticks").clientWidth;
  showBars();
  wind(seconds);
  show(time());
  tellTime();
}

// Shows a recorded race; gives its first line, or nothing where it cannot be read.
export async function load(name) {
  pause();
  const answer = await fetch(stage.config.races + encodeURIComponent(name)).catch(() => null);
  if (!answer || !answer.ok) {
    notice("This recorded race could not be read. " + (answer && answer.status === 422 ? await answer.text() : ""));
    return undefined;
  }
  const text = await answer.text();
  wanted = 0;
  story.text = "";
  feed(text);
  return story.race;
}

// Live races: the page numbers them; the server is told which one to stop.
export function begin() {
  if (!number) {
    number = Date.now();
    [heard, finished, stopping] = [0, false, false];
    pause();
    hands.due = false;
    notice(awaited = "Asking the server for this race.");
    document.body.classList.add("sv-racing");
    const mine = number;
    knock(() => number === mine, ended);
  }
  wanted = number;
  return number;
}

export function stop() {
  if (!number) return number;
  stopping = true;
  notice(heard === 2 ? "Stopping after this round." : "Stopping.");
  return number;
}

// What the visitor waits for, said by the server ahead of the race and at its end.
export function onState(line) {
  if (Number(line.id) !== number) return;
  if (line.state === "stopped") return notice(heard === 2 ? STOPPED : UNBEGUN);
  if (stopping) return;
  const said = { queued: inLine(line.place), loading: "Loading the models.", racing: "" };
  if (line.state in said) notice(awaited = said[line.state]);
}

// The server is done with the race, however it went.
export function ended() {
  const mine = number && wanted === number;
  number = 0;
  document.body.classList.remove("sv-racing");
  if (!mine || finished) return;
  notice(stopping ? STOPPED : heard ? LOST : UNTAKEN);
  if (heard !== 2) return;
  story.over = true; // what came stays, and can be replayed
  onLines([]);
}

// All that the server has said of a live race so far.
export function hear(text) {
  if (!text) return;
  const first = JSON.parse(text.slice(0, text.indexOf("\n")));
  if (!wanted || Number(first.id) !== wanted) return;
  const end = text.slice(text.lastIndexOf("\n", text.length - 2) + 1);
  heard = text.includes('{"kind":"race"') ? 2 : 1;
  finished = /^\{"kind":"(error|state","state":"(done|stopped))"/.test(end);
  feed(text);
}
