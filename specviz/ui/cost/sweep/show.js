// Shows a sweep: sentences, marks over dashed lines, and all numbers as a table.

import { el } from "../../shared/dom.js";
import { plot } from "../../shared/plot.js";
import { $, stage } from "./stage.js";

/** @import { Sweep } from "./data.js" */

const COLUMNS = [
  ["tokens", "tokens in the pass", ""],
  ["guesses", "draft tokens verified", ""],
  ["measured", "measured, ms", ""],
  ["middle", "middle 50%, ms", "sv-sweep-wide"],
  ["passes", "plain passes", ""],
  ["roofline", "roofline, ms", ""],
];
/** @type {("answer" | "must" | "memory" | "gap" | "grows" | "caution" | "how")[]} */
const SENTENCES = ["answer", "must", "memory", "gap", "grows", "caution", "how"];
const KEYS = [
  ["sv-sweep-mark", "measured: median and middle 50%"],
  ["sv-sweep-dash", "roofline: simulated"],
  ["sv-sweep-dots", "roofline + overhead of a plain pass: simulated"],
  ["sv-sweep-level", "one plain pass"],
];
/** @type {Sweep | null} */
export let on = null; // the sweep that is shown

/** @param {string} name @param {string} text */
export const say = (name, text) => {
  $(".sv-sweep-" + name).textContent = text || "";
  $(".sv-sweep-" + name).hidden = !text;
};

/** @param {Sweep} sweep */
export function show(sweep) {
  on = sweep;
  const recorded = sweep.source === "recorded";
  $(".sv-sweep-badge").textContent = recorded ? "recorded" : "measured on this machine";
  $(".sv-sweep-badge").title = recorded
    ? "Measured earlier, on the machine named here."
    : "Measured now, on the machine that serves this page.";
  $(".sv-sweep").dataset.source = sweep.source;
  $(".sv-sweep-answer").classList.toggle("sv-sweep-busy", sweep.restless);
  $(".sv-sweep-where").textContent = sweep.where;
  $(".sv-sweep-body").hidden = false;
  for (const name of SENTENCES) say(name, sweep[name]);
  table(sweep.rows);
  draw();
}

export function draw() {
  if (on && stage.element.offsetParent) plot($(".sv-sweep-plot"), on.figure);
}

/** @param {Sweep["rows"]} rows */
function table(rows) {
  const head = el("tr", "", ...COLUMNS.map(([key, title, name]) => heading(key, title, name)));
  const body = rows.map((row) =>
    el("tr", "", ...COLUMNS.map(([key, , name]) => el("td", name, String(row[key])))),
  );
  const made = el("table", "", el("thead", "", head), el("tbody", "", ...body));
  const spoken = el(
    "caption",
    "sv-unseen",
    "Pass time by number of tokens: measured, and predicted by the roofline",
  );
  made.prepend(spoken);
  $(".sv-sweep-table").replaceChildren(made);
}

/** @param {string} key @param {string} title @param {string} name */
function heading(key, title, name) {
  const made = el("th", name, title);
  made.scope = "col";
  if (key === "roofline") made.append(el("span", "sv-sweep-simulated", "simulated"));
  return made;
}

export function legend() {
  const keys = KEYS.map(([name, text]) => el("span", "sv-sweep-key", el("i", name), text));
  $(".sv-sweep-keys").replaceChildren(...keys);
}
