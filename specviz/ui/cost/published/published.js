// Published speed-ups and Spec-Bench: the page contains all data; the controls filter and sort it.

import { Stage } from "../../shared/stage.js";
import { there } from "../../shared/there.js";
import { h, render } from "../../shared/view.js";
import { Choice } from "../shared/fields.js";
import { Part, reveal } from "../shared/part.js";
import { BoardTable, OwnNumbers } from "./boards.js";
import { Cited } from "./cards_table.js";
import { familiesOf, NumbersTable, ORDERS, sorted } from "./published_numbers.js";

/** @import { Start } from "../../shared/section.js" */
/** @import { Option } from "../shared/fields.js" */
/** @import { Config } from "./__init__.py" */
/** @import { Order } from "./published_numbers.js" */

/** @type {Stage<Config>} */
const stage = new Stage();
const { $ } = stage;
const state = {
  family: "", // all
  /** @type {Order} */
  order: "family",
  board: 0,
  own: false, // whether the House models' numbers are shown
  here: "", // the row that a link led to
};

/** @param {Partial<typeof state>} values */
function change(values) {
  Object.assign(state, values);
  draw();
}

const meanings = () => Object.fromEntries(stage.config.evidence);

/** @param {string} title @param {import("preact").ComponentChild} control */
const Labelled = (title, control) => h("label", null, title + " ", control);

function showNumbers() {
  const { rows, evidence, ours } = stage.config;
  const letters = evidence.map(([letter]) => letter);
  const shown = sorted(rows, state.order, letters).filter(
    ({ method }) => !state.family || method === state.family,
  );
  /** @type {Option[]} */
  const families = [
    ["", "all"],
    ...familiesOf(rows).map((name) => /** @type {Option} */ ([name, name])),
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
          change({ order: /** @type {Order} */ (order) }),
        ),
      ),
      h(
        "span",
        { class: "sv-headline-count", role: "status" },
        `${shown.length} of ${rows.length} numbers`,
      ),
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
    used.map(([letter, meaning]) =>
      h("div", null, h("dt", { class: "sv-headline-letter" }, letter), h("dd", null, meaning)),
    ),
    $(".sv-headline-evidence"),
  );
}

function showBoard() {
  const { boards, full } = stage.config;
  const board = boards[state.board];
  if (!board) return;
  /** @type {Option[]} */
  const pairs = boards.map(({ device, model }, at) => [String(at), device + " · " + model]);
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
/** @param {string} place */
function showRow(place) {
  const [kind, at] = place.split("-");
  change({ here: place, ...(kind === "row" ? { family: "" } : { board: Number(at) }) });
  reveal($("#" + CSS.escape("sv-" + place)), "center");
}

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  $(".sv-headline-secondhand").textContent = config.secondhand;
  const folds = /** @type {HTMLDetailsElement[]} */ (stage.all("details"));
  folds.forEach((fold, at) => {
    new Part(fold, () => {});
    there(fold.querySelector(".sv-fold-answer")).textContent = config.brief[at];
  });
  window.addEventListener("sv-report", (event) => showRow(event.detail));
  showEvidence();
  draw();
}
