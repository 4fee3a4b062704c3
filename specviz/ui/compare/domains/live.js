// Live measurements: numbered by the page, told line by line by the server.

import { inLine, knock } from "../../shared/page.js";
import { paint } from "./map.js";
import { shown } from "./shown.js";
import { $, stage } from "./stage.js";
import { cellAt } from "./tip.js";

const STOPPED = "Stopped. What was measured stays.";
const UNBEGUN = "Stopped before it began.";
const UNTAKEN = "The server did not take this measurement. Try again.";
const LOST = "The connection to the server was lost before the end. What came stays.";
const WAITS = { loading: "Loading the models." };

let job = 0; // of this page's measurement; 0 when none is under way
export let wanted = 0; // whose lines are taken
let read = 0; // lines of it that were taken
let over = false; // its last line has come
let stopping = false;

function notice(sentence) {
  $(".sv-domains-notice").textContent = sentence;
  $(".sv-domains-notice").hidden = !sentence;
}

function progress(sentence, place, of) {
  $(".sv-domains-live").hidden = !sentence;
  $(".sv-domains-now").textContent = sentence;
  $(".sv-domains-progress").hidden = !of;
  if (!of) return;
  $(".sv-domains-progress").max = of;
  $(".sv-domains-progress").value = place - 1;
}

export function begin() {
  if (job) return job;
  job = wanted = Date.now();
  [read, over, stopping] = [0, false, false];
  notice("");
  progress("Asking the server for this measurement.");
  document.body.classList.add("sv-domains-running");
  const mine = job;
  knock(() => job === mine, ended);
  return job;
}

export function stop() {
  if (job) {
    stopping = true;
    progress("Stopping after this turn.");
  }
  return job;
}

// The server is done with the measurement, however it went.
export function ended() {
  const mine = job !== 0;
  job = 0;
  document.body.classList.remove("sv-domains-running");
  progress("");
  if (mine && !over) notice(stopping ? STOPPED : read ? LOST : UNTAKEN);
}

const live = () => shown.views.find((one) => one.live);

const TAKES = {
  state(line) {
    if (line.state === "stopped") { over = true; notice(live() && live().id === line.id ? STOPPED : UNBEGUN); }
    else if (line.state === "done") over = true;
    else if (!stopping && line.state === "queued") progress(inLine(line.place));
    else if (!stopping && WAITS[line.state]) progress(WAITS[line.state]);
  },
  error(line) { over = true; notice(line.sentence); },
  now(line) {
    if (!stopping) progress("Turn " + line.place + " of " + line.of + ": " + line.sentence, line.place, line.of);
  },
  map(line) {
    const before = line.rows ? null : live();
    const made = { ...before, ...line, live: true, cells: { ...(before ? before.cells : {}), ...line.cells } };
    shown.views = [...shown.views.filter((one) => !one.live), made];
    if (!before) [shown.at, shown.sorted, shown.here] = [shown.views.length - 1, { column: null, down: true }, { row: 0, column: 0 }];
    shown.at = Math.min(shown.at, shown.views.length - 1);
    const at = document.activeElement, inside = at && at.tagName === "TD" && stage.element.contains(at);
    paint();
    if (inside) cellAt(shown.here.row, shown.here.column).focus();
  },
};

export function feed(line) {
  if (TAKES[line.kind]) TAKES[line.kind](line);
}

export function receive() {
  const lines = (stage.props.value || "").split("\n").slice(0, -1).map((text) => JSON.parse(text));
  if (!lines.length || !wanted || Number(lines[0].id) !== wanted) return;
  lines.slice(read).forEach(feed);
  read = lines.length;
}
