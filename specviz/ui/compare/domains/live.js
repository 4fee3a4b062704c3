// Live measurements: numbered by the page, told line by line by the server.

import { Job } from "../../shared/job.js";
import { paint } from "./map.js";
import { shown } from "./shown.js";
import { $, stage } from "./stage.js";
import { cellAt } from "./tip.js";

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

export const job = new Job({
  kind: "map",
  words: {
    asking: "Asking the server for this measurement.",
    dropping: "Stopping after this turn.",
    stopping: "Stopping after this turn.",
    stopped: "Stopped. What was measured stays.",
    unbegun: "Stopped before it began.",
    untaken: "The server did not take this measurement. Try again.",
    lost: "The connection to the server was lost before the end. What came stays.",
  },
  waits: { loading: "Loading the models." },
  turn(under) {
    if (under) notice("");
    else progress("");
    document.body.classList.toggle("sv-domains-running", under);
  },
  wait: (sentence) => progress(sentence),
  end: notice,
});

const live = () => shown.views.find((one) => one.live);

const TAKES = {
  state: (line) => job.state(line),
  error: (line) => notice(line.sentence),
  now(line) {
    if (!job.stopping)
      progress("Turn " + line.place + " of " + line.of + ": " + line.sentence, line.place, line.of);
  },
  map(line) {
    const before = line.rows ? null : live();
    const made = {
      ...before,
      ...line,
      live: true,
      cells: { ...(before ? before.cells : {}), ...line.cells },
    };
    shown.views = [...shown.views.filter((one) => !one.live), made];
    if (!before)
      [shown.at, shown.sorted, shown.here] = [
        shown.views.length - 1,
        { column: null, down: true },
        { row: 0, column: 0 },
      ];
    shown.at = Math.min(shown.at, shown.views.length - 1);
    const at = document.activeElement,
      inside = at && at.tagName === "TD" && stage.element.contains(at);
    paint();
    if (inside) cellAt(shown.here.row, shown.here.column).focus();
  },
};

export function feed(line) {
  if (TAKES[line.kind]) TAKES[line.kind](line);
}

export function receive() {
  job.hear(stage.props.value).forEach(feed);
}
