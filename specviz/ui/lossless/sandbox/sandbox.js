// Set-up of the sandbox, and the API that other sections use: `window.specviz.sandbox`.

import { el } from "../../shared/dom.js";
import { pictures } from "../../shared/picture.js";
import { expect } from "../../shared/tabs.js";
import { ask, question, request } from "./ask.js";
import { bars } from "./bars.js";
import { keepLink, linked } from "./link.js";
import { choose, controls, load, showControls } from "./controls.js";
import { last, onAnswer, show } from "./show.js";
import { $, stage } from "./stage.js";
import { state } from "./state.js";

/** @import { Start } from "../../shared/data.js" */
/** @import { Config, State } from "./data.js" */

/** @type {[name: string, meaning: string][]} */
const KEYS = [
  ["kept", "an accepted guess"],
  ["filled", "a replacement after a rejection"],
  ["outline", "the target’s p"],
];

let write = () => {}; // writes the state to the page's URL

/** @param {boolean} laws */
function changed(laws) {
  write();
  if (laws) bars(moved);
  showControls(() => ask());
  ask();
}

function moved() {
  write();
  showControls();
  ask();
}

/** Show other distributions or another rule in the sandbox. @param {Partial<State>} to */
export function go(to) {
  const { rule, dials, ...rest } = to;
  Object.assign(state, rest);
  if (rule) choose(rule, dials);
  changed(true);
}

/** @type {State | null} */
let before = null; // what a position of a run replaced

/** Show a position of a run; Undo brings the replaced experiment back. @param {Partial<State>} to */
function take(to) {
  if (!state.from) before = structuredClone(state);
  go(to);
}

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  question.wire(request, show);
  window.specviz.sandbox = {
    request,
    go,
    onAnswer,
    get state() {
      return structuredClone(state);
    },
    get idle() {
      return question.idle;
    },
    get last() {
      return last;
    },
  };
  $(".sv-sand-keys").replaceChildren(
    ...KEYS.map(([name, meaning]) => el("li", "", el("i", "sv-sand-key sv-sand-" + name), meaning)),
  );
  controls(changed);
  load(config.presets[0]);
  choose("auto");
  expect("sv-sand", take);
  $(".sv-sand-undo").addEventListener("click", () => {
    if (before) go(before);
    $("#sv-sand-preset").focus();
  });
  $(".sv-sand-after").before(pictures([["experiment", () => $(".sv-sand-stage")]]));
  write = keepLink();
  go(linked() ?? {});
}
