// The list: models in memory, then all models grouped by availability. Text is set as text.

import { el } from "../shared/dom.js";
import { there } from "../shared/there.js";
import { $, stage } from "./stage.js";
import { fetched, list } from "./state.js";

/** @import { Loaded, Row } from "./data.js" */

/** @typedef {{ fetch: (name: string) => void, cancel: () => void, use: (name: string) => void }} Acts */

/** @type {[string, string, (row: Row) => boolean][]} */
const GROUPS = [
  ["On this machine", "", (row) => row.here],
  [
    "Not on this machine",
    "Public checkpoints, described from their pages. Their weights have not been run with this app.",
    (row) => !row.here && row.runs !== false,
  ],
  [
    "Not supported",
    "Public checkpoints whose drafting method is not implemented.",
    (row) => row.runs === false,
  ],
];
/** @type {[string, (row: Row) => string][]} */
const FACTS = [
  ["layout", (row) => row.layout],
  ["size", (row) => row.size],
  ["memory in float32", (row) => row.memory],
  ["licence", (row) => row.licence],
  ["access", (row) => row.gated],
  ["tested here", (row) => row.tried],
];

/** @type {Acts | null} */
let acts = null;

/** @param {Acts} given */
export function wireActs(given) {
  acts = given;
  filter().addEventListener("change", show);
}

/** @param {string} sentence */
export function status(sentence) {
  $(".sv-models-status").textContent = sentence;
}

export function show() {
  if (!list.answer) return;
  const { rows, loaded, bare, free } = list.answer;
  showFilter(free);
  const held = document.activeElement?.closest("[data-model]")?.getAttribute("data-model");
  $(".sv-models-loaded").replaceChildren(...memory(loaded));
  const groups = GROUPS.map(([title, about, has], at) => {
    const own = rows.filter((row) => has(row) && (at !== 0 || row.here) && passes(row));
    return own.length ? group(title, about, own) : null;
  });
  const needNone = el("p", "sv-models-bare", "Drafters without weights: " + bare.join(", ") + ".");
  $(".sv-models-lists").replaceChildren(...groups.filter((one) => one !== null), needNone);
  paint();
  if (held) focusIn(held);
}

/** @returns {HTMLInputElement} */
const filter = () => $(".sv-models-filter input");

/** Whether the filter leaves a row in the list. @param {Row} row */
const passes = (row) => !filter().checked || row.fits !== false;

/** @param {string} free Memory, in words. */
function showFilter(free) {
  $(".sv-models-filter").hidden = !free;
  $(".sv-models-filter span").textContent =
    "Hide models that do not fit in this machine’s memory (" + free + " for weights in float32)";
}

/** @param {Loaded[]} loaded */
function memory(loaded) {
  if (!loaded.length)
    return [el("li", "", "None yet. A model is loaded when a run first uses it.")];
  return loaded.map(({ title, where, memory }) =>
    el("li", "", el("b", "", title), " " + memory + " (" + where + ")"),
  );
}

/** @param {string} title @param {string} about @param {Row[]} rows */
function group(title, about, rows) {
  const head = el("h3", "", title, el("span", "sv-models-count", " " + rows.length));
  const said = about ? el("p", "sv-models-about", about) : null;
  return el("div", "sv-models-group", head, said, el("ul", "sv-models-rows", ...rows.map(item)));
}

/** @param {Row} row */
function item(row) {
  const kind = el("span", "sv-models-kind", row.kind);
  const whose = row.made_for ? " for " + row.made_for : "";
  const name = el("p", "sv-models-name", el("b", "", row.title), " ", kind, whose);
  const facts = el("dl", "sv-models-facts");
  for (const [word, told] of FACTS) {
    if (!told(row)) continue;
    facts.append(el("div", "", el("dt", "", word), el("dd", "", told(row))));
  }
  const about = el("p", "sv-models-about", row.about, ...row.sources.flatMap(source));
  const what = el("div", "sv-models-what", name, about);
  const made = el("li", "sv-models-row", what, facts, el("div", "sv-models-do", ...buttons(row)));
  made.dataset.model = row.name;
  return made;
}

/** @param {string} address @param {number} at */
function source(address, at) {
  const link = el("a", "", "source " + (at + 1));
  link.title = address;
  [link.href, link.target, link.rel] = [address, "_blank", "noopener noreferrer"];
  return [" ", link];
}

/** @param {Row} row */
function buttons(row) {
  const made = [];
  if (row.use) made.push(button("Use on Step", row, "sv-models-use", () => acts?.use(row.name)));
  if (!row.fetch) return made;
  made.push(button("Download", row, "sv-models-fetch", () => acts?.fetch(row.name)));
  const stop = button("Cancel", row, "sv-models-cancel", () => acts?.cancel());
  const bar = el("progress", "sv-models-bar");
  bar.setAttribute("aria-label", row.title + ": download progress");
  stop.hidden = bar.hidden = true;
  return [...made, stop, bar, el("p", "sv-models-told")];
}

/** @param {string} text @param {Row} row @param {string} name @param {() => void} press */
function button(text, row, name, press) {
  const made = el("button", name, text, el("span", "sv-unseen", " " + row.title));
  made.type = "button";
  made.addEventListener("click", press);
  return made;
}

// The list was redrawn: give the focus back to the same row.
/** @param {string} name */
function focusIn(name) {
  const row = stage.all(".sv-models-row").find((one) => one.dataset.model === name);
  /** @type {HTMLButtonElement | null | undefined} */
  const first = row?.querySelector("button:not([hidden])");
  first?.focus();
}

// Show the progress of a download in its row.
export function paint() {
  for (const row of stage.all(".sv-models-row:has(.sv-models-fetch)")) paintRow(row);
}

/**
 * @template {HTMLElement} Kind
 * @param {HTMLElement} row
 * @param {string} name
 * @returns {Kind}
 */
function part(row, name) {
  /** @type {Kind | null} */
  const found = row.querySelector(".sv-models-" + name);
  return there(found);
}

/** @param {HTMLElement} row */
function paintRow(row) {
  const mine = row.dataset.model === fetched.name;
  const under = mine && fetched.under;
  /** @type {HTMLButtonElement} */
  const go = part(row, "fetch");
  /** @type {HTMLButtonElement} */
  const stop = part(row, "cancel");
  /** @type {HTMLProgressElement} */
  const bar = part(row, "bar");
  const had = document.activeElement;
  go.hidden = under;
  go.disabled = fetched.under;
  stop.hidden = bar.hidden = !under;
  if (had === go && under) stop.focus();
  if (had === stop && !under) go.focus();
  if (under && fetched.of) [bar.max, bar.value] = [fetched.of, fetched.done];
  else bar.removeAttribute("value");
  const told = part(row, "told");
  told.textContent = mine ? words() : "";
  told.classList.toggle("sv-models-failed", mine && fetched.failed);
}

function words() {
  const { under, done, of, sentence } = fetched;
  if (!under || !done) return sentence;
  const here = (done / 1e6).toFixed(1);
  return of ? here + " of " + (of / 1e6).toFixed(1) + " MB" : here + " MB";
}
