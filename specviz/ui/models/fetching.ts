// Downloads: one model at a time; its row shows the progress and the result.

import { Job } from "../shared/job";
import { download, question, show, state } from "./models_list";

import type { Line } from "./__init__.py";

function announce(sentence: string) {
  state.status = sentence;
  show();
}

export const job: Job<Line> = new Job({
  kind: "progress",
  words: {
    asking: "Asking the server to download it.",
    dropping: "Cancelling.",
    stopping: "Cancelling.",
    stopped: "Cancelled. The downloaded part is kept for the next attempt.",
    unbegun: "Cancelled before the download started.",
    untaken: "The server did not accept the request. Try again.",
    lost: "The connection to the server was lost.",
  },
  waits: { fetching: "Locating the files.", done: "" },
  turn(runs) {
    Object.assign(download, runs ? { runs, done: 0, of: 0, failed: false } : { runs });
    show();
    if (!runs) question.ask();
  },
  wait(sentence) {
    download.sentence = sentence;
    show();
  },
  end(sentence) {
    download.sentence = sentence;
    announce(sentence);
  },
  take: receive,
});

function receive(lines: Line[]) {
  for (const line of lines) {
    if (line.kind === "progress") [download.done, download.of] = [line.done, line.of];
    else if (line.kind === "step") download.sentence = line.sentence;
    else if (line.kind === "error") fail(line.sentence);
    else if (line.kind === "state") {
      job.state(line);
      if (line.state === "done") end();
    }
  }
  show();
}

function end() {
  download.sentence = "";
  announce(download.name + " is on this machine now.");
}

function fail(sentence: string) {
  Object.assign(download, { sentence, failed: true });
  announce(sentence);
}
