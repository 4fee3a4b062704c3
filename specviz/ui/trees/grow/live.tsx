// Draft after the visitor's own text: the page numbers the jobs, and the server runs each once.

import { Job } from "../../shared/job";
import { render } from "../../shared/view";
import { addPlace } from "./controls";
import { $, look } from "./state";

import type { Line } from "./__init__.py";

export const job: Job<Line> = new Job({
  kind: "position",
  words: {
    asking: "Asking the server.",
    dropping: "Stopping.",
    stopping: "Stopping.",
    stopped: "Stopped.",
    unbegun: "Stopped before it started.",
    untaken: "The server did not accept the request. Try again.",
    lost: "The connection to the server was lost.",
  },
  waits: { loading: "Loading the models.", drafting: "Drafting.", done: "" },
  turn(under) {
    $("[data-do=go]").hidden = under;
    $("[data-do=stop]").hidden = !under;
    if (!under) wait("");
  },
  wait,
  end: (sentence) => wait(sentence),
  take: receive,
});

function wait(sentence: string, numbers?: string) {
  const counted = numbers && (
    <span class="sv-numbers" aria-hidden="true">
      {numbers}
    </span>
  );
  render([sentence, counted], $(".sv-grow-wait"));
}

/** Return the request in the form that the server expects. */
export function wanted() {
  const prompt: HTMLInputElement = $("#sv-grow-prompt");
  const drafter: HTMLSelectElement = $("#sv-grow-drafter");
  const skip: HTMLInputElement = $("#sv-grow-skip");
  return JSON.stringify({
    prompt: prompt.value,
    drafter: drafter.value,
    skip: skip.value === "" ? null : Number(skip.value),
  });
}

/** Function that shows a live position. */
let ask: (place: string, title: string) => void = () => {};

export const onPosition = (show: typeof ask) => {
  ask = show;
};

function receive(lines: Line[]) {
  for (const line of lines) {
    if (line.kind === "state") job.state(line);
    else if (line.kind === "error") look({ notice: line.sentence });
    else {
      const prompt: HTMLInputElement = $("#sv-grow-prompt");
      const title = "Live: " + prompt.value.slice(-40);
      addPlace(line.place, title);
      ask(line.place, title);
    }
  }
}
