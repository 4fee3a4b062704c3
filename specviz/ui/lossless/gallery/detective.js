// Find the fault: the evidence of one exhibit, its name held back until one has chosen.

import { el, flat } from "../../shared/dom.js";
import { columns } from "./columns.js";
import { article, badge, exhibits, named } from "./show.js";
import { $, stage } from "./stage.js";

/** @import { Evidence } from "./data.js" */

const SOUND = "Nothing is wrong: it follows p";
const OFFERED = 4;
let key = "";
/** @type {string[]} */
let offered = [];
let [right, tried] = [0, 0];

/** The next case: which evidence is wanted. */
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
  const { strings, firsts, throws } = evidence;
  const lead =
    throws.toLocaleString("en") + " rounds were thrown on p and q of the worked example.";
  stage.element.style.setProperty("--sv-sand-many", String(stage.config.words.length));
  $(".sv-wild-one").replaceChildren(
    el("h3", "", "What fell"),
    el("p", "sv-wild-found", lead + " Outline: p. " + firsts),
    el("p", "sv-wild-found", "The draft’s q: " + listed(evidence.q) + "."),
    ...columns(stage.config.words, evidence.out, evidence.p, evidence.intervals),
    ...(strings.length
      ? [el("p", "sv-wild-found", "Words one after another:"), table(strings)]
      : []),
  );
  showOptions();
}

/** @param {number[]} law */
const listed = (law) =>
  law.map((chance, at) => flat(stage.config.words[at]) + " " + chance.toFixed(2)).join(", ");

/** @param {string[][]} rows */
function table(rows) {
  const heads = ["words", "came", "p expects", "off by"].map((text) => cell("th", text));
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
  $(".sv-wild-options").replaceChildren(el("p", "", "Which rule was it?"), ...buttons, score());
}

/** @param {string} choice */
function choose(choice) {
  const own = named(key);
  const truth = own.is === "lossy" ? own.key : "";
  const good = choice === truth;
  tried += 1;
  right += good ? 1 : 0;
  const said = good ? "Right." : "No: it was this one.";
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
