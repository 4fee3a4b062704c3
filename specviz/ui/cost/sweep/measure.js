// Measuring: the page numbers its sweeps; the server tells how far one is and what it found.

import { inLine, knock } from "../../shared/page.js";
import { say, show } from "./show.js";
import { $, stage } from "./stage.js";

const STOPPED = "Stopped. What was measured stays.";
const UNBEGUN = "Stopped before anything was measured.";
const UNTAKEN = "The server did not take this sweep. Try again.";
const LOST = "The connection to the server was lost. What was measured stays; measure again for the rest.";
export let number = 0; // of the sweep under way; 0 when there is none
let wanted = 0; // the newest sweep, under way or over
let heard = ""; // the part of the value that was read already
let found = false; // whether this sweep has measured something
let over = false; // its last line has come
let stopping = false;

export function begin() {
  if (!number) {
    number = wanted = Date.now();
    [heard, found, over, stopping] = ["", false, false, false];
    say("alert", "");
    say("notice", "Asking the server to measure.");
    showRunning(true);
    const mine = number;
    knock(() => number === mine, ended);
  }
  return number;
}

export function stop() {
  stopping = true;
  say("notice", "Stopping after this pass.");
  return number;
}

// The server is done with the sweep, however it went.
export function ended() {
  if (!number) return;
  number = 0;
  showRunning(false);
  if (!over) say("alert", heard ? LOST : UNTAKEN);
  if (!over) say("notice", "");
}

function showRunning(is) {
  const had = document.activeElement;
  const [go, halt] = [$(".sv-sweep-go"), $(".sv-sweep-stop")];
  go.hidden = is;
  halt.hidden = !is;
  if (had === go || had === halt) (is ? halt : go).focus();
  if (!is) $(".sv-sweep-progress").hidden = true;
}

export function receive() {
  const text = stage.props.value;
  if (!text || !wanted) return;
  const fresh = text.startsWith(heard) ? text.slice(heard.length) : text;
  const lines = fresh.split("\n").filter(Boolean).map((each) => JSON.parse(each));
  if (lines.some((each) => Number(each.id) !== wanted)) return;
  heard = text;
  const newest = (kind) => lines.filter((each) => each.kind === kind).pop();
  const [state, progress, sweep, error] = ["state", "progress", "sweep", "error"].map(newest);
  if (sweep) {
    found = true;
    show(sweep);
  }
  if (progress) onProgress(progress);
  if (state) onState(state);
  if (error) onError(error.sentence);
}

function onState({ state, place }) {
  over = state === "done" || state === "stopped";
  if (over) say("alert", "");
  if (state === "stopped") return say("notice", found ? STOPPED : UNBEGUN);
  if (stopping && !over) return;
  const said = { queued: inLine(place), loading: "Loading the model.", measuring: "Measuring. Leave the machine alone for a moment." };
  say("notice", said[state]);
}

function onError(sentence) {
  over = true;
  say("notice", "");
  say("alert", sentence);
}

function onProgress({ done, of }) {
  const bar = $(".sv-sweep-bar");
  $(".sv-sweep-progress").hidden = false;
  if (of) [bar.max, bar.value] = [of, done];
  else bar.removeAttribute("value");
  $(".sv-sweep-done").textContent = of ? done + " of " + of + " measurements" : "warming up";
}
