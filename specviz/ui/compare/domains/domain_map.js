// The map and everything around it: sentences, switches, legend, and the table or the list.

import { meaning } from "../../shared/dom.js";
import { h, render } from "../../shared/view.js";
import { DomainChoice, DomainList } from "./domain_list.js";
import { DomainTable } from "./domain_table.js";
import { listedColumn, narrow, rowsInOrder, shown, view } from "./shown.js";
import { $, hideTip, stage } from "./tip.js";

/** @import { Measure } from "../../../compare/domains/heatmap.py" */
/** @import { View } from "./shown.js" */

/** @type {[name: Measure, title: string, scale: string][]} */
const MEASURES = [
  ["speedup", "Speed-up", "plain decoding"],
  ["accepted", "Accepted length", "accepted length"],
];

/** @param {Partial<typeof shown>} values */
function change(values) {
  Object.assign(shown, values);
  hideTip();
  draw();
}

/** @param {string | null} column */
function sortBy(column) {
  const { column: before, down } = shown.sorted;
  const sorted = { column, down: column === null || before !== column || !down };
  change({ sorted, here: { row: 0, column: 0 } });
}

/** @param {string} title @param {boolean} on @param {() => void} onClick */
const Choice = (title, on, onClick) =>
  h("button", { key: title, type: "button", "aria-pressed": String(on), onClick }, title);

/** @param {View} one */
const viewTitle = (one) => (one.live ? "Live" : "Recorded, temperature " + one.temperature);

/** @param {string} scale */
function Legend(scale) {
  const [low, high] = view().ends[shown.measure];
  const slower = narrow.matches
    ? "left of 1 ×: slower than plain decoding"
    : "▼ slower than plain decoding";
  return [
    !narrow.matches &&
      h(
        "span",
        { class: "sv-domains-key" },
        h("span", null, low),
        h("span", { class: "sv-domains-scale", "aria-hidden": "true" }),
        h("span", null, high + " " + scale),
      ),
    h("span", { class: "sv-domains-key" }, h("b", null, "best"), " in its column"),
    shown.measure === "speedup" && h("span", { class: "sv-domains-key" }, slower),
  ];
}

export function draw() {
  $(".sv-domains-shown").hidden = !shown.views.length;
  if (!shown.views.length) {
    $(".sv-domains-headline").textContent = "No measurement is recorded.";
    return;
  }
  const badge = $(".sv-domains-badge");
  badge.textContent = view().badge;
  badge.title = meaning(view().live ? "live" : "recorded");
  badge.classList.toggle("sv-domains-hot", Boolean(view().live));
  for (const name of /** @type {const} */ (["where", "headline", "detail", "caution"]))
    $(".sv-domains-" + name).textContent = view()[name];
  $(".sv-domains-caution").hidden = !view().caution;
  $(".sv-domains-note").textContent = stage.config.notes[shown.measure];
  drawBar();
  drawMap();
}

function drawBar() {
  const [which, what] = stage.all(".sv-domains-switch");
  render(
    shown.views.map((one, at) => Choice(viewTitle(one), at === shown.at, () => change({ at }))),
    which,
  );
  render(
    MEASURES.map(([measure, title]) =>
      Choice(title, measure === shown.measure, () => change({ measure })),
    ),
    what,
  );
  const [, , scale] = MEASURES.find(([measure]) => measure === shown.measure) ?? MEASURES[0];
  render(Legend(scale), $(".sv-domains-legend"));
}

function drawMap() {
  const [, title] = MEASURES.find(([measure]) => measure === shown.measure) ?? MEASURES[0];
  const { references } = stage.config;
  const list = narrow.matches;
  const map = $(".sv-domains-map");
  map.classList.toggle("sv-domains-list", list);
  if (list) shown.here = { row: 0, column: view().columns.indexOf(listedColumn()) };
  render(list ? DomainChoice((listed) => change({ listed })) : null, $(".sv-domains-choice"));
  const rows = rowsInOrder();
  render(
    h(
      list ? DomainOnly : AllDomains,
      null,
      h("caption", { class: "sv-domains-spoken" }, title + " by drafter and domain"),
      list ? DomainList(rows, references) : DomainTable(rows, references, sortBy),
    ),
    map,
  );
}

// Two component types, so that Preact never reuses a cell of one for the other.
/** @param {{ children?: import("preact").ComponentChildren }} props */
const DomainOnly = ({ children }) => children;
/** @param {{ children?: import("preact").ComponentChildren }} props */
const AllDomains = ({ children }) => children;
