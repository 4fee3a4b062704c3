// The list: models in memory, then all models grouped by availability, and the state of a download.

import { linkable, linkedText } from "../shared/address.js";
import { Question } from "../shared/ask.js";
import { byId } from "../shared/dom.js";
import { Stage } from "../shared/stage.js";
import { openTab } from "../shared/tabs.js";
import { there } from "../shared/there.js";
import { classes, h, render } from "../shared/view.js";
import { ReliabilityDiagrams } from "./reliability.js";

/** @import { Answer, Loaded, Row } from "./rows.py" */
/** @import { Config } from "./__init__.py" */

const FITTING = "fitting"; // in the address: only models that fit in memory
/** @type {Stage<Config>} */
export const stage = new Stage();
const { $ } = stage;

export const state = {
  /** @type {Answer | null} */
  answer: null,
  status: "", // is read aloud
  filters: false, // whether models that do not fit in memory are hidden
  chosen: "", // the target to use on Step
};
/** The current or last download. */
export const download = {
  cancel() {},
  name: "",
  runs: false,
  done: 0,
  of: 0,
  sentence: "",
  failed: false,
};

/** @type {[title: string, about: string, has: (row: Row) => boolean][]} */
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
/** @type {[name: string, fact: (row: Row) => string][]} */
const FACTS = [
  ["layout", (row) => row.layout],
  ["size", (row) => row.size],
  ["memory in float32", (row) => row.memory],
  ["licence", (row) => row.licence],
  ["access", (row) => row.gated],
  ["tested here", (row) => row.tried],
];

let keep = () => {}; // updates the page's address

/** Read whether the list is filtered from the page's address, and keep it there. */
export function keepLink() {
  state.filters = linkedText("models") === FITTING;
  keep = linkable("models", () => (state.filters ? FITTING : ""), stage.element);
}

/** @type {Question<Answer>} */
export const question = new Question("models", (sentence) => {
  render(sentence, $(".sv-models-alert"));
});

/** @param {Answer} answer */
export function receive(answer) {
  state.answer = answer;
  const held = document.activeElement?.closest(".sv-models-row")?.getAttribute("data-model");
  show();
  if (held && document.activeElement === document.body) focusRow(held);
}

// Focus the row of a downloaded model, which is now in another list and has other buttons.
/** @param {string} name */
function focusRow(name) {
  const row = stage.all(".sv-models-row").find((one) => one.dataset.model === name);
  row?.querySelector("button")?.focus();
}

export function show() {
  render(state.status, $(".sv-models-status"));
  if (!state.answer) return;
  render(LoadedModels(state.answer.loaded), $(".sv-models-loaded"));
  render(ModelsList(state.answer), $(".sv-models-lists"));
}

/** @param {Loaded[]} loaded */
const LoadedModels = (loaded) =>
  loaded.length
    ? loaded.map(({ title, where, memory, file, packed }) => {
        const parts = [file + " in its file", packed && packed + " of packed copies", where];
        const facts = parts.filter(Boolean).join("; ");
        return h("li", null, h("b", null, title), ` ${memory} (${facts})`);
      })
    : h("li", null, "None yet. A model is loaded when a run first uses it.");

/** @param {Answer} answer */
function ModelsList({ rows, bare, free }) {
  const shown = rows.filter((row) => !state.filters || row.fits !== false);
  return [
    MemoryFilter(free),
    ...GROUPS.map(([title, about, has]) => Group(title, about, shown.filter(has))),
    h("p", { class: "sv-models-bare" }, "Drafters without weights: " + bare.join(", ") + "."),
  ];
}

/** @param {string} free Memory, in words. */
const MemoryFilter = (free) =>
  h(
    "label",
    { class: "sv-models-filter", hidden: !free },
    h("input", {
      type: "checkbox",
      checked: state.filters,
      onChange({ currentTarget }) {
        state.filters = currentTarget.checked;
        keep();
        show();
      },
    }),
    " ",
    h(
      "span",
      null,
      "Hide models that do not fit in this machine’s memory (" + free + " for weights in float32)",
    ),
  );

/** @param {string} title @param {string} about @param {Row[]} rows */
function Group(title, about, rows) {
  if (!rows.length) return null;
  return h(
    "div",
    { class: "sv-models-group", key: title },
    h("h3", null, title, h("span", { class: "sv-models-count" }, " " + rows.length)),
    about && h("p", { class: "sv-models-about" }, about),
    h("ul", { class: "sv-models-rows" }, ...rows.map(ModelRow)),
  );
}

/** @param {Row} row */
function ModelRow(row) {
  const whose = row.made_for ? " for " + row.made_for : "";
  const facts = FACTS.filter(([, fact]) => fact(row)).map(([name, fact]) =>
    h("div", null, h("dt", null, name), h("dd", null, fact(row))),
  );
  return h(
    "li",
    { class: "sv-models-row", key: row.name, "data-model": row.name },
    h(
      "div",
      { class: "sv-models-what" },
      h(
        "p",
        { class: "sv-models-name" },
        h("b", null, row.title),
        " ",
        h("span", { class: "sv-models-kind" }, row.kind),
        whose,
      ),
      h("p", { class: "sv-models-about" }, row.about, ...row.sources.flatMap(Source)),
    ),
    h("dl", { class: "sv-models-facts" }, ...facts),
    h(
      "div",
      { class: "sv-models-do" },
      row.use && UseButton(row),
      ...(row.fetch ? Download(row) : []),
    ),
    row.reliability.length > 0 && ReliabilityDiagrams(row),
  );
}

/** @param {string} address @param {number} at */
const Source = (address, at) => [
  " ",
  h(
    "a",
    { title: address, href: address, target: "_blank", rel: "noopener noreferrer" },
    "source " + (at + 1),
  ),
];

/** @param {Row} row @param {string} text @param {object} attributes */
const Button = (row, text, attributes) =>
  h(
    "button",
    { type: "button", ...attributes },
    text,
    h("span", { class: "sv-unseen" }, " " + row.title),
  );

/** @param {Row} row */
const UseButton = (row) =>
  Button(row, "Use on Step", { class: "sv-models-use", key: "use", onClick: () => use(row.name) });

// Download and cancel are one button, so that it keeps the focus.
/** @param {Row} row */
function Download(row) {
  const own = row.name === download.name;
  const runs = own && download.runs;
  const { done, of, failed } = download;
  return [
    runs
      ? Button(row, "Cancel", { class: "sv-models-cancel", key: "download", onClick: cancel })
      : Button(row, "Download", {
          class: "sv-models-fetch",
          key: "download",
          disabled: download.runs,
          onClick: () => begin(row.name),
        }),
    runs &&
      h("progress", {
        class: "sv-models-bar",
        key: of ? "measured" : "unknown",
        "aria-label": row.title + ": download progress",
        ...(of ? { max: of, value: done } : {}),
      }),
    h(
      "p",
      { class: classes("sv-models-told", own && failed && "sv-models-failed") },
      own && progressText(),
    ),
  ];
}

function progressText() {
  const { runs, done, of, sentence } = download;
  if (!runs || !done) return sentence;
  const megabytes = (done / 1e6).toFixed(1);
  return of ? megabytes + " of " + (of / 1e6).toFixed(1) + " MB" : megabytes + " MB";
}

/** @param {string} name */
function begin(name) {
  if (download.runs) return;
  download.name = name;
  there(byId("sv-models-go")).click();
}

const cancel = () => download.cancel();

/** @param {string} name */
async function use(name) {
  state.chosen = name;
  there(byId("sv-models-use")).click();
  await openTab("Step");
  window.scrollTo(0, 0);
}
