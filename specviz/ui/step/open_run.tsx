// Opening a run from a file: with a button, or by dropping the file anywhere on the page. What is
// refused leaves the run on screen as it is.

import { openTab } from "../shared/tabs";
import { required } from "../shared/required";
import { Button } from "../shared/view";
import { bringIntoView, notice } from "./live";
import { player } from "./state";
import { readRun, Refused } from "./run_file";
import { fillForm, showFile } from "./runs";
import { $, stage } from "./stage";

const KINDS = ".html,.jsonl,.gz,.json";
const NAME_CHARACTERS = 60; // letters of a file's name that are shown

/** Opens a file that the visitor chooses. */
export function OpenRun() {
  let field: HTMLInputElement | null = null;
  const choose = () => field?.click();
  return [
    Button("Open a saved run", choose, {
      class: "sv-button",
      title:
        "A trace, from here or from specviz run --trace, or a page that replays a run; or drop it on the page",
    }),
    <input
      type="file"
      class="sv-file"
      accept={KINDS}
      hidden
      ref={(element: HTMLInputElement | null) => {
        field = element;
      }}
      onChange={() => {
        const file = field?.files?.[0];
        if (field && file) open(file).finally(() => (required(field).value = ""));
      }}
    />,
  ];
}

let newest = 0; // number of the file that was chosen last, which alone is shown

async function open(file: File) {
  newest += 1;
  const mine = newest;
  const name =
    file.name.length > NAME_CHARACTERS ? file.name.slice(0, NAME_CHARACTERS) + "…" : file.name;
  try {
    const lines = await readRun(file);
    if (mine !== newest) return;
    openTab("step");
    if (!showFile(name, lines)) throw new Refused("Its run cannot be drawn.");
    notice("");
    if (isKnown()) fillForm();
    bringIntoView();
  } catch (problem) {
    const why = problem instanceof Refused ? problem.message : "This browser could not read it.";
    if (mine === newest) refuse(`The file ${name} was not opened. ${why}`);
  }
}

// The button is below the run, and the notice above it, on Step.
function refuse(sentence: string) {
  openTab("step").then(() => $(".sv-notice").scrollIntoView({ block: "center" }));
  notice(sentence);
}

// Return whether the models of the run on screen are in the lists.
function isKnown() {
  const { targets, drafters } = stage.config;
  const [target, drafter] = required(player.run).names;
  return targets.includes(target) && drafters.includes(drafter);
}

/** Opens what is dropped on the page; without this, the browser would leave the page for it. */
export function startDrops() {
  const { classList } = document.body;
  let leaving = 0; // the timer that ends the sign of a file over the page
  const isFile = ({ dataTransfer, target }: DragEvent) =>
    Boolean(dataTransfer?.types.includes("Files")) &&
    !(target instanceof Element && target.closest("input, textarea"));
  document.addEventListener("dragover", (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    classList.add("sv-dropping");
    clearTimeout(leaving);
    leaving = setTimeout(() => classList.remove("sv-dropping"), 300);
  });
  document.addEventListener("drop", (event) => {
    classList.remove("sv-dropping");
    if (!isFile(event)) return;
    event.preventDefault();
    const files = event.dataTransfer?.files ?? [];
    if (files.length === 1) open(files[0]);
    else refuse("One file can be opened at a time.");
  });
}
