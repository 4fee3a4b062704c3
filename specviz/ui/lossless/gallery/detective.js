// "Find the fault": show one rule's statistics, and its name only after a choice.

import { el } from "../../shared/dom.js";
import { columns } from "./columns.js";
import { article, badge, exhibits, named } from "./show.js";
import { $, stage } from "./stage.js";

/** @import { Evidence } from "./data.js" */

const SOUND = "No fault: the output follows p";
const OFFERED = 4;
let key = "";
/** @type {string[]} */
let offered = [];
let [right, tried] = [0, 0];

/** Choose the next case, and return its key. */
export function nextCase() {
  const others = exhibits.filter((each) => each.key !== key);
  key = others[Math.floor(Math.random() * others.length)].key;
  const wrong = exhibits.filter((each) => each.is === "lossy" && each.key !== key);
  const picked = shuffled(wrong).slice(0, OFFERED - 1);
  const own = named(key);
  offered = shuffled([...picked, ...(own.is === "lossy" ? [own] : [])])
    .map((each) => each.key)
    .slice(0, OFFERED);
  return key;
}

/** @template Item @param {Item[]} all */
function shuffled(all) {
  const found = [...all];
  for (let at = found.length - 1; at > 0; at -= 1) {
    const other = Math.floor(Math.random() * (at + 1));
    [found[at], found[other]] = [found[other], found[at]];
  }
  return found;
}

/** @param {Evidence} evidence */
export function showCase(evidence) {
  const { strings, lead, draft } = evidence;
  stage.element.style.setProperty("--sv-sand-many", String(stage.config.words.length));
  $(".sv-wild-one").replaceChildren(
    el("h3", "", "The evidence"),
    el("p", "sv-wild-found", lead),
    el("p", "sv-wild-found", draft),
    ...columns(stage.config.words, evidence.out, evidence.p, evidence.intervals),
    ...(strings.length
      ? [el("p", "sv-wild-found", "Counts of whole sequences:"), table(strings)]
      : []),
  );
  showOptions();
}

/** @param {string[][]} rows */
function table(rows) {
  const heads = ["sequence", "count", "expected from p", "difference"].map((text) =>
    cell("th", text),
  );
  const lines = rows.map((texts) => el("tr", "", ...texts.map((text) => cell("td", text))));
  return el(
    "table",
    "sv-sand-table",
    el("thead", "", el("tr", "", ...heads)),
    el("tbody", "", ...lines),
  );
}

/** @param {"th" | "td"} kind @param {string} text */
const cell = (kind, text) => el(kind, "", text);

function showOptions() {
  const names = [...offered.map((each) => named(each).name), SOUND];
  const buttons = names.map((name, at) => {
    const made = el("button", "", name);
    made.type = "button";
    made.addEventListener("click", () => choose(offered[at] || ""));
    return made;
  });
  $(".sv-wild-options").replaceChildren(
    el("p", "", "Which rule produced this?"),
    ...buttons,
    score(),
  );
}

/** @param {string} choice */
function choose(choice) {
  const own = named(key);
  const truth = own.is === "lossy" ? own.key : "";
  const good = choice === truth;
  tried += 1;
  right += good ? 1 : 0;
  const said = good ? "Correct:" : "No, it was this one:";
  const again = el("button", "sv-button", "Another case");
  again.type = "button";
  again.dataset.do = "case";
  $(".sv-wild-options").replaceChildren(
    el("p", "sv-wild-said", el("b", "", said), " ", badge(own), " " + own.name + "."),
    again,
    score(),
  );
  $(".sv-wild-one").replaceChildren(...article(own));
}

const score = () => el("p", "sv-wild-score", tried ? right + " of " + tried + " cases solved" : "");
