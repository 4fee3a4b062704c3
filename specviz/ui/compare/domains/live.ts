// Live measurements, started by the page and streamed by the server.

import { Job } from "../../shared/job";
import { there } from "../../shared/there";
import { render, Sentence } from "../../shared/view";
import { draw } from "./domain_map";
import { shown } from "./shown";
import { $ } from "./tip";

import type { Line, MapLine, NowLine } from "./live.py";

function notice(sentence: string) {
  $(".sv-domains-notice").textContent = sentence;
  $(".sv-domains-notice").hidden = !sentence;
}

// place: number of the current turn, from 1; of: number of turns, 0 if unknown.
function progress(sentence: string, place = 0, of = 0, numbers: string = "") {
  $(".sv-domains-live").hidden = !sentence;
  render(Sentence(sentence, numbers), $(".sv-domains-now"));
  const bar: HTMLProgressElement = $(".sv-domains-progress");
  bar.hidden = !of;
  if (!of) return;
  bar.max = of;
  bar.value = place - 1;
}

export const job: Job<Line> = new Job({
  kind: "map",
  words: {
    asking: "Sending the measurement to the server.",
    dropping: "Stopping after this pair of runs.",
    stopping: "Stopping after this pair of runs.",
    stopped: "Stopped. Everything measured so far is kept.",
    unbegun: "Stopped before it started.",
    untaken: "The server did not accept this measurement. Try again.",
    lost: "The connection to the server was lost. What was received is kept.",
  },
  waits: { loading: "Loading the models." },
  turn(under) {
    if (under) notice("");
    else progress("");
    document.body.classList.toggle("sv-domains-running", under);
  },
  wait: (sentence, numbers) => progress(sentence, 0, 0, numbers),
  end: notice,
  take: (lines) => lines.forEach(feed),
});

const live = () => shown.views.find((one) => one.live);

function onNow(line: NowLine) {
  if (!job.stopping)
    progress("Turn " + line.place + " of " + line.of + ": " + line.sentence, line.place, line.of);
}

// Show a whole map, or apply changes to the current one.
function onMap(line: MapLine) {
  const before = line.rows ? undefined : live();
  const { rows = before?.rows, columns = before?.columns } = line;
  const made = {
    ...line,
    rows: there(rows),
    columns: there(columns),
    live: true,
    cells: { ...before?.cells, ...line.cells },
  };
  shown.views = [...shown.views.filter((one) => !one.live), made];
  if (!before)
    [shown.at, shown.sorted, shown.here] = [
      shown.views.length - 1,
      { column: null, down: true },
      { row: 0, column: 0 },
    ];
  shown.at = Math.min(shown.at, shown.views.length - 1);
  draw();
}

export function feed(line: Line) {
  if (line.kind === "state") job.state(line);
  else if (line.kind === "error") notice(line.sentence);
  else if (line.kind === "now") onNow(line);
  else if (line.kind === "map") onMap(line);
}
