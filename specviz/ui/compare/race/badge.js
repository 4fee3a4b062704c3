// Whether all texts are the same, the race in a sentence, and a lane's sentence with its numbers.

import { el } from "../../shared/dom.js";
import { visit } from "../../shared/tabs.js";
import { showParting } from "./lanes.js";
import { called, story } from "./lines.js";
import { $ } from "./stage.js";
import { showFoot, showTable } from "./table.js";
import { opened, sign } from "./words.js";

function showBadge(texts) {
  const box = $(".sv-race-same");
  const kind = texts.same === null ? "open" : texts.same ? "same" : "apart";
  const [first, rest] = opened(texts.sentence);
  box.dataset.is = kind;
  box.replaceChildren(sign(kind), el("p", "", el("b", "", first), rest));
  box.hidden = false;
}

// How many decimals its sentence gives to what a round brings and costs: with so many, what is
// shown divides to the speed-up that is shown.
export function decimals(lane) {
  if (!lane.costs) return 2;
  const said = [2, 3, 4].find((digits) => [lane.brings, lane.costs.total]
    .every((value) => new RegExp("\\b" + value.toFixed(digits).replace(".", "\\.") + "\\b").test(lane.sentence)));
  return said || 2;
}

// The numbers of a lane's sentence, by how they are written there, each with its hue: where two
// are written alike, none can be told from its look, and ink is right for any.
function written(lane, digits) {
  const costs = lane.costs || {};
  const known = [
    [costs.draft, "q"], [costs.target + costs.overhead, "p"], [costs.prefill, "prefill"],
    [costs.total, "k"], [lane.brings, "k"], [lane.kept, "k"], [lane.speedup, "k"],
  ];
  const found = new Map();
  for (const [value, hue] of known) {
    if (value === null || value === undefined || Number.isNaN(value)) continue;
    const text = value.toFixed(digits);
    found.set(text, found.has(text) && found.get(text) !== hue ? "k" : hue);
  }
  return found;
}

export function honest(lane) {
  const [first, rest] = opened(lane.sentence);
  const made = [el("b", "", first)];
  for (const piece of rest.split(/(\d+\.\d{2,4})/)) {
    const digits = /^\d+\.\d{2,4}$/.test(piece) ? piece.length - piece.indexOf(".") - 1 : 0;
    const hue = digits ? written(lane, digits).get(piece) : undefined;
    made.push(hue ? el("span", "sv-race-n sv-race-n-" + hue, piece) : piece);
  }
  return made;
}

// Where the law of the speed-up has this lane's point.
export function onCost(lane) {
  if (!lane.point) return null;
  const made = el("button", "sv-race-link", "See it on Cost");
  made.type = "button";
  made.setAttribute("aria-label", "See it on Cost: " + called(lane.name));
  const point = { ...lane.point, name: called(lane.name), source: story.race.source };
  made.addEventListener("click", () => visit("Cost", "sv-law", point));
  return made;
}

export function showResult() {
  const { whole } = story, ready = Boolean(whole && story.over);
  $(".sv-race-result").hidden = !ready;
  $(".sv-race-same").hidden = !ready;
  if (!ready) return;
  showBadge(whole.texts);
  $(".sv-race-headline").textContent = whole.headline;
  $(".sv-race-caution").textContent = whole.caution || "";
  $(".sv-race-caution").hidden = !whole.caution;
  showTable(whole.lanes);
  showFoot(whole);
  showParting();
}
