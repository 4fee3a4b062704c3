// Published speed-ups and Spec-Bench: the page contains all data; the controls filter and sort it.

import { Stage } from "../../shared/stage";
import { there } from "../../shared/there";
import { render } from "../../shared/view";
import { Choice } from "../shared/fields";
import { Part, reveal } from "../shared/part";
import { BoardTable, OwnNumbers } from "./boards";
import { Cited } from "./cards_table";
import { familiesOf, NumbersTable, ORDERS, sorted } from "./published_numbers";

import type { Start } from "../../shared/section";
import type { Option } from "../shared/fields";
import type { Config } from "./__init__.py";
import type { Order } from "./published_numbers";

const stage: Stage<Config> = new Stage();
const { $ } = stage;
const state = {
  family: "", // all
  order: "family" as Order,
  board: 0,
  own: false, // whether the House models' numbers are shown
  here: "", // the row that a link led to
};

function change(values: Partial<typeof state>) {
  Object.assign(state, values);
  draw();
}

const meanings = () => Object.fromEntries(stage.config.evidence);

const Labelled = (title: string, control: import("preact").ComponentChild) => (
  <label>
    {title + " "}
    {control}
  </label>
);

function showNumbers() {
  const { rows, evidence, ours } = stage.config;
  const letters = evidence.map(([letter]) => letter);
  const shown = sorted(rows, state.order, letters).filter(
    ({ method }) => !state.family || method === state.family,
  );
  const families: Option[] = [
    ["", "all"],
    ...familiesOf(rows).map((name) => [name, name] as Option),
  ];
  render(
    [
      Labelled(
        "Drafter family",
        Choice({ class: "sv-headline-family" }, families, state.family, (family) =>
          change({ family }),
        ),
      ),
      Labelled(
        "Sort by",
        Choice({ class: "sv-headline-sort" }, ORDERS, state.order, (order) =>
          change({ order: order as Order }),
        ),
      ),
      <span
        class="sv-headline-count"
        role="status"
      >{`${shown.length} of ${rows.length} numbers`}</span>,
    ],
    $(".sv-headline-choices"),
  );
  render(NumbersTable(shown, meanings(), state.here), $(".sv-headline-table"));
  if (ours)
    render(
      OwnNumbers(ours, state.own, () => change({ own: !state.own })),
      $(".sv-headline-own"),
    );
}

function showEvidence() {
  const { rows, evidence } = stage.config;
  const used = evidence.filter(([letter]) => rows.some((row) => row.source.evidence === letter));
  render(
    used.map(([letter, meaning]) => (
      <div>
        <dt class="sv-headline-letter">{letter}</dt>
        <dd>{meaning}</dd>
      </div>
    )),
    $(".sv-headline-evidence"),
  );
}

function showBoard() {
  const { boards, full } = stage.config;
  const board = boards[state.board];
  if (!board) return;
  const pairs: Option[] = boards.map(({ device, model }, at) => [
    String(at),
    device + " · " + model,
  ]);
  const list = Choice({ class: "sv-headline-device" }, pairs, String(state.board), (at) =>
    change({ board: Number(at) }),
  );
  render(Labelled("Device and model", list), $(".sv-headline-device-choice"));
  render(BoardTable(board, full, state.here), $(".sv-headline-board"));
  render(
    [
      `${board.model} on ${board.device}; ${board.conditions}. Source: `,
      Cited(board.source, meanings()),
    ],
    $(".sv-headline-about"),
  );
}

function draw() {
  showNumbers();
  showBoard();
}

// Show a row that another part links to, even if the filters would hide it.
function showRow(place: string) {
  const [kind, at] = place.split("-");
  change({ here: place, ...(kind === "row" ? { family: "" } : { board: Number(at) }) });
  reveal($("#" + CSS.escape("sv-" + place)), "center");
}

export const start: Start<Config> = (element, props, _watch, _trigger, config) => {
  stage.set(element, props, config);
  $(".sv-headline-secondhand").textContent = config.secondhand;
  const folds = stage.all("details") as HTMLDetailsElement[];
  folds.forEach((fold, at) => {
    new Part(fold, () => {});
    there(fold.querySelector(".sv-fold-answer")).textContent = config.brief[at];
  });
  window.addEventListener("sv-report", (event) => showRow(event.detail));
  showEvidence();
  draw();
};
