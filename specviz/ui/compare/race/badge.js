// Whether all texts are the same, the race in a sentence, and a lane's sentence with its numbers.

import { el } from "../../shared/dom.js";
import { visit } from "../../shared/tabs.js";
import { showParting } from "./lanes.js";
import { called, story } from "./lines.js";
import { $ } from "./stage.js";
import { showFoot, showTable } from "./table.js";
import { sign } from "./words.js";

function showBadge(texts) {
  const box = $(".sv-race-same");
  const kind = texts.same === null ? "open" : texts.same ? "same" : "apart";
  box.dataset.is = kind;
  box.replaceChildren(sign(kind), el("p", "", ...texts.sentence_parts.map(piece)));
  box.hidden = false;
}

// A part of a sentence, as compare/parts.py has it: text, its opening, or a number and whose it is.
export function piece(part) {
  if (typeof part === "string") return part;
  return part.b === undefined
    ? el("span", "sv-race-n sv-race-n-" + part.as, part.n)
    : el("b", "", part.b);
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
  const { whole } = story,
    ready = Boolean(whole && story.over);
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
