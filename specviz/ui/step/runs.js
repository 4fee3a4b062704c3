// What arrives: recorded runs that are fetched, live runs that are streamed.

import { meaning } from "../shared/dom.js";
import { inLine, knock } from "../shared/page.js";
import { paint, pause, play } from "./cursor.js";
import { showDock } from "./dock.js";
import { follow } from "./links.js";
import { now } from "./now.js";
import { feed, frameAt, reel } from "./reel.js";
import { $, stage } from "./stage.js";
import { clearText } from "./text.js";
import { showTime } from "./time.js";
import { showFork } from "./whatif.js";

const STOPPED = "Stopped. What was made stays.";
const UNBEGUN = "Stopped before it began.";
const UNTAKEN = "The server did not take this run. Try again.";
const LOST = "The connection to the server was lost before the run's end. What came stays; run it again.";
let fresh = false; // a run has begun and no round of it is on screen yet
export let shown = "none"; // "recorded", "live" or "none": whose run is on screen
export let number = 0; // of this page's live run; 0 when none is under way
export let wanted = 0; // the live run to show; 0 once a recorded one was chosen instead
let heard = 0; // lines of the live run that came from the server: 0, 1 (states only), 2 (the run)
let over = false; // the live run's last line has come
let stopping = false; // the visitor asked for its end
let awaited = ""; // the notice that the first round takes away

export const forget = () => { wanted = 0; };
export const waiting = () => shown === "live" && number > 0 && !reel.finished;

export function onRun() {
  fresh = true;
  now.question = null;
  now.at = { round: 0, step: 0 };
  shown = reel.run.source;
  clearText();
  if (!number || shown === "recorded") notice("");
  $(".sv-badge").textContent = reel.run.source;
  $(".sv-badge").title = meaning(reel.run.source);
  $(".sv-where").textContent = reel.run.drafter + " drafts for " + reel.run.where + " · " + reel.run.said;
  $(".sv-lossy").textContent = reel.run.lossless ? "" : "not lossless";
  $(".sv").dataset.source = reel.run.source;
}

export function onRounds() {
  if (fresh) {
    if ($(".sv-notice").textContent === awaited) notice("");
    const led = follow();
    if (!led && now.link && waiting()) return; // the round that is asked for is still to come
    fresh = false;
    now.link = null;
    showFork();
    if (led) return;
    paint();
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) play(true);
  } else {
    showDock(now.at.round, now.at.step);
    showTime(frameAt(now.at.round, now.at.step), now.at.round);
  }
}

// Where the run stands on the speed law, for whoever shows that: nothing, where it has no such place.
export function tellMeasured() {
  const point = reel.baseline.point;
  window.specviz.measured = point ? { ...point, name: reel.run.drafter, source: shown } : null;
  window.dispatchEvent(new CustomEvent("sv-measured"));
}

export function onEnd() {
  if (fresh && reel.rounds.length) onRounds(); // it ended before the round that was asked for
  if (reel.finished && reel.finished.reason === "stopped") notice(STOPPED);
  if (reel.rounds.length) showTime(frameAt(now.at.round, now.at.step), now.at.round);
}

export function notice(sentence) {
  $(".sv-notice").textContent = sentence;
  $(".sv-notice").hidden = !sentence;
}

// Shows a recorded run; what the form would say to make it again, or nothing where it cannot be read.
export async function load(name) {
  pause();
  if (reel.run) now.link = null; // a link in the page's address is for its first run
  const answer = await fetch(stage.config.traces + encodeURIComponent(name));
  if (!answer.ok) return notice("This recorded run could not be read. " + (answer.status === 422 ? await answer.text() : ""));
  const text = await answer.text();
  wanted = 0;
  reel.text = "";
  feed(text);
  return formOf(reel.run);
}

// The form's values that ask for this run, in the order of its inputs; lists as they are typed.
function formOf(run) {
  const { sampling, ...chosen } = { ...stage.config.usual, ...run.settings };
  const drafter = stage.config.drafters.includes(run.names[1]) ? run.names[1] : stage.config.drafters[0];
  const known = { ...chosen, ...sampling, prompt: run.prompt, method: drafter };
  const path = (list) => list.join(",");
  const typed = { wholes: (list) => list.join(", "), paths: (list) => list.map(path).join("; ") };
  return stage.config.form.map(({ name, kind }) => (typed[kind] ? typed[kind](known[name]) : known[name]));
}

// Live runs: the page numbers them; the server is told which one to stop.
export function begin() {
  if (!number) {
    number = Date.now();
    [heard, over, stopping] = [0, false, false];
    notice("Asking the server for this run.");
    document.body.classList.add("sv-running");
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

// What the visitor waits for, said by the server ahead of the run and at its end.
export function onState(line) {
  if (Number(line.id) !== number) return;
  if (line.state === "stopped") return notice(heard === 2 ? STOPPED : UNBEGUN);
  if (stopping) return;
  const said = { queued: inLine(line.place), loading: "Loading the models.", drafting: "Drafting." };
  if (said[line.state]) notice(awaited = said[line.state]);
}

// The server is done with the run, however it went.
export function ended() {
  const mine = number && wanted === number;
  number = 0;
  document.body.classList.remove("sv-running");
  if (!mine || over) return;
  notice(stopping ? STOPPED : heard ? LOST : UNTAKEN);
}

export function receive() {
  const text = stage.props.value;
  if (!text) return;
  const first = JSON.parse(text.slice(0, text.indexOf("\n")));
  if (!wanted || Number(first.id) !== wanted) return;
  const last = text.slice(text.lastIndexOf("\n", text.length - 2) + 1);
  heard = text.includes('{"kind":"run"') ? 2 : 1;
  over = /^\{"kind":"(error|state","state":"(done|stopped))"/.test(last);
  feed(text);
}
