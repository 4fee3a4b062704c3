// The list: models in memory, then all models grouped by availability, and the state of a download.

import { linkable, linkedText } from "../shared/address";
import { Question } from "../shared/ask";
import { byId } from "../shared/dom";
import { Stage } from "../shared/stage";
import { openTab } from "../shared/tabs";
import { there } from "../shared/there";
import { classes, h, render } from "../shared/view";
import { ReliabilityDiagrams } from "./reliability";

import type { Answer, Loaded, Row } from "./rows.py";
import type { Config } from "./__init__.py";

const FITTING = "fitting"; // in the address: only models that fit in memory
export const stage: Stage<Config> = new Stage();
const { $ } = stage;

export const state = {
  answer: null as Answer | null,
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

const GROUPS: [title: string, about: string, has: (row: Row) => boolean][] = [
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
const FACTS: [name: string, fact: (row: Row) => string][] = [
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

export const question: Question<Answer> = new Question("models", (sentence) => {
  render(sentence, $(".sv-models-alert"));
});

export function receive(answer: Answer) {
  state.answer = answer;
  const held = document.activeElement?.closest(".sv-models-row")?.getAttribute("data-model");
  show();
  if (held && document.activeElement === document.body) focusRow(held);
}

// Focus the row of a downloaded model, which is now in another list and has other buttons.
function focusRow(name: string) {
  const row = stage.all(".sv-models-row").find((one) => one.dataset.model === name);
  row?.querySelector("button")?.focus();
}

export function show() {
  render(state.status, $(".sv-models-status"));
  if (!state.answer) return;
  render(LoadedModels(state.answer.loaded), $(".sv-models-loaded"));
  render(ModelsList(state.answer), $(".sv-models-lists"));
}

const LoadedModels = (loaded: Loaded[]) =>
  loaded.length ? (
    loaded.map(({ title, where, memory, file, packed }) => {
      const parts = [file + " in its file", packed && packed + " of packed copies", where];
      const facts = parts.filter(Boolean).join("; ");
      return (
        <li>
          <b>{title}</b>
          {` ${memory} (${facts})`}
        </li>
      );
    })
  ) : (
    <li>None yet. A model is loaded when a run first uses it.</li>
  );

function ModelsList({ rows, bare, free }: Answer) {
  const shown = rows.filter((row) => !state.filters || row.fits !== false);
  return [
    MemoryFilter(free),
    ...GROUPS.map(([title, about, has]) => Group(title, about, shown.filter(has))),
    <p class="sv-models-bare">{"Drafters without weights: " + bare.join(", ") + "."}</p>,
  ];
}

/** @param free Memory, in words. */
const MemoryFilter = (free: string) => (
  <label class="sv-models-filter" hidden={!free}>
    {h("input", {
      type: "checkbox",
      checked: state.filters,
      onChange({ currentTarget }) {
        state.filters = currentTarget.checked;
        keep();
        show();
      },
    })}{" "}
    <span>
      {"Hide models that do not fit in this machine’s memory (" + free + " for weights in float32)"}
    </span>
  </label>
);

function Group(title: string, about: string, rows: Row[]) {
  if (!rows.length) return null;
  return (
    <div class="sv-models-group" key={title}>
      <h3>
        {title}
        <span class="sv-models-count">{" " + rows.length}</span>
      </h3>
      {about && <p class="sv-models-about">{about}</p>}
      <ul class="sv-models-rows">{rows.map(ModelRow)}</ul>
    </div>
  );
}

function ModelRow(row: Row) {
  const whose = row.made_for ? " for " + row.made_for : "";
  const facts = FACTS.filter(([, fact]) => fact(row)).map(([name, fact]) => (
    <div>
      <dt>{name}</dt>
      <dd>{fact(row)}</dd>
    </div>
  ));
  return (
    <li class="sv-models-row" key={row.name} data-model={row.name}>
      <div class="sv-models-what">
        <p class="sv-models-name">
          <b>{row.title}</b> <span class="sv-models-kind">{row.kind}</span>
          {whose}
        </p>
        <p class="sv-models-about">
          {row.about}
          {row.sources.flatMap(Source)}
        </p>
      </div>
      <dl class="sv-models-facts">{facts}</dl>
      <div class="sv-models-do">
        {row.use && UseButton(row)}
        {row.fetch ? Download(row) : []}
      </div>
      {row.reliability.length > 0 && ReliabilityDiagrams(row)}
    </li>
  );
}

const Source = (address: string, at: number) => [
  " ",
  <a title={address} href={address} target="_blank" rel="noopener noreferrer">
    {"source " + (at + 1)}
  </a>,
];

const Button = (row: Row, text: string, attributes: object) => (
  <button type="button" {...attributes}>
    {text}
    <span class="sv-unseen">{" " + row.title}</span>
  </button>
);

const UseButton = (row: Row) =>
  Button(row, "Use on Step", { class: "sv-models-use", key: "use", onClick: () => use(row.name) });

// Download and cancel are one button, so that it keeps the focus.
function Download(row: Row) {
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
    runs && (
      <progress
        class="sv-models-bar"
        key={of ? "measured" : "unknown"}
        aria-label={row.title + ": download progress"}
        {...(of ? { max: of, value: done } : {})}
      />
    ),
    <p class={classes("sv-models-told", own && failed && "sv-models-failed")}>
      {own && progressText()}
    </p>,
  ];
}

function progressText() {
  const { runs, done, of, sentence } = download;
  if (!runs || !done) return sentence;
  const megabytes = (done / 1e6).toFixed(1);
  return of ? megabytes + " of " + (of / 1e6).toFixed(1) + " MB" : megabytes + " MB";
}

function begin(name: string) {
  if (download.runs) return;
  download.name = name;
  there(byId("sv-models-go")).click();
}

const cancel = () => download.cancel();

async function use(name: string) {
  state.chosen = name;
  there(byId("sv-models-use")).click();
  await openTab("Step");
  window.scrollTo(0, 0);
}
