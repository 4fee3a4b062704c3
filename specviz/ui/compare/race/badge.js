// The result: whether all texts are the same, and the headline.

import { el } from "../../shared/dom.js";
import { showParting } from "./lanes.js";
import { story } from "./lines.js";
import { piece } from "./sentence.js";
import { $ } from "./stage.js";
import { showFoot, showTable } from "./table.js";
import { sign } from "./words.js";

/** @import { Whole } from "./data.js" */

/** @param {Whole["texts"]} texts */
function showBadge(texts) {
  const box = $(".sv-race-same");
  const kind = texts.same === null ? "open" : texts.same ? "same" : "apart";
  box.dataset.is = kind;
  box.replaceChildren(sign(kind), el("p", "", ...texts.sentence_parts.map(piece)));
  box.hidden = false;
}

export function showResult() {
  const whole = story.over ? story.whole : null;
  $(".sv-race-result").hidden = !whole;
  $(".sv-race-same").hidden = !whole;
  if (!whole) return;
  showBadge(whole.texts);
  $(".sv-race-headline").textContent = whole.headline;
  $(".sv-race-caution").replaceChildren(sign("rough"), el("span", "", whole.caution || ""));
  $(".sv-race-caution").hidden = !whole.caution;
  showTable(whole.lanes);
  showFoot(whole);
  showParting();
}
