// The map and everything around it: sentences, switches, legend, and the table or the list.

import { meaning } from "../../shared/dom";
import { h, render } from "../../shared/view";
import { DomainChoice, DomainList } from "./domain_list";
import { DomainTable } from "./domain_table";
import { listedColumn, narrow, rowsInOrder, shown, view } from "./shown";
import { $, hideTip, stage } from "./tip";

import type { Measure } from "../../../compare/domains/heatmap.py";
import type { View } from "./shown";

const MEASURES: [name: Measure, title: string, scale: string][] = [
  ["speedup", "Speed-up", "plain decoding"],
  ["accepted", "Accepted length", "accepted length"],
];

function change(values: Partial<typeof shown>) {
  Object.assign(shown, values);
  hideTip();
  draw();
}

function sortBy(column: string | null) {
  const { column: before, down } = shown.sorted;
  const sorted = { column, down: column === null || before !== column || !down };
  change({ sorted, here: { row: 0, column: 0 } });
}

const Choice = (title: string, on: boolean, onClick: () => void) => (
  <button key={title} type="button" aria-pressed={on} onClick={onClick}>
    {title}
  </button>
);

const viewTitle = (one: View) => (one.live ? "Live" : "Recorded, temperature " + one.temperature);

function Legend(scale: string) {
  const [low, high] = view().ends[shown.measure];
  const slower = narrow.matches
    ? "left of 1 ×: slower than plain decoding"
    : "▼ slower than plain decoding";
  return [
    !narrow.matches && (
      <span class="sv-domains-key">
        <span>{low}</span>
        <span class="sv-domains-scale" aria-hidden="true" />
        <span>{high + " " + scale}</span>
      </span>
    ),
    <span class="sv-domains-key">
      <b>best</b>
      {" in its column"}
    </span>,
    shown.measure === "speedup" && <span class="sv-domains-key">{slower}</span>,
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
  for (const name of ["where", "headline", "detail", "caution"] as const)
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
      <caption class="sv-domains-spoken">{title + " by drafter and domain"}</caption>,
      list ? DomainList(rows, references) : DomainTable(rows, references, sortBy),
    ),
    map,
  );
}

// Two component types, so that Preact never reuses a cell of one for the other.
const DomainOnly = ({ children }: { children?: import("preact").ComponentChildren }) => children;
const AllDomains = ({ children }: { children?: import("preact").ComponentChildren }) => children;
