// Event wiring, and the section's public object `window.specviz.grow`.

import { byId } from "../../shared/dom.js";
import { onTheme } from "../../shared/page.js";
import { pictures } from "../../shared/picture.js";
import { there } from "../../shared/there.js";
import { ask, question } from "./ask.js";
import { controls, showControls } from "./controls.js";
import { fillLive, keepLink } from "./link.js";
import { job, wanted } from "./live.js";
import { drawMask, showPickedRow, startMask } from "./mask.js";
import { showLengths, showLists, showOne, showText, showWorth } from "./one.js";
import { onPick } from "./pick.js";
import { tell } from "./say.js";
import { $, stage } from "./stage.js";
import { onStep, showNow, startSteps } from "./steps.js";
import { state, view } from "./state.js";
import { drawTree, showPicked, startTree, wholeTree } from "./tree.js";

/** @import { Refusal, Start } from "../../shared/data.js" */
/** @import { Answer, Config } from "./data.js" */

let write = () => {}; // to the page's address

/** @param {Answer | Refusal} answer */
function show(answer) {
  stage.element.classList.toggle("sv-grow-faulty", answer.problem !== undefined);
  if (answer.problem !== undefined) {
    tell(answer.problem);
    return;
  }
  tell(answer.notes.join(" "));
  const atEnd = view.answer !== null && view.at >= view.answer.steps.length - 1;
  view.answer = answer;
  write();
  const last = answer.steps.length - 1;
  view.at = atEnd ? last : Math.min(Math.max(view.at, 0), last);
  view.picked = Math.min(view.picked, answer.nodes.length - 1);
  const { target, drafter, machine } = answer.from;
  const kind = view.live ? "live" : "recorded";
  $(".sv-grow-source").textContent = `${kind} · ${drafter} drafts for ${target} · ${machine}`;
  $(".sv-grow-source").dataset.source = kind;
  drawTree();
  drawMask();
  showNow();
  showText();
  showOne();
  showLists();
  showLengths();
  showWorth();
}

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  question.wire(() => state, show);
  window.specviz.grow = {
    request: () => state,
    begin: () => job.begin(),
    stop: () => job.stop(),
    ended: () => job.ended(),
    get live() {
      return wanted();
    },
    get idle() {
      return question.idle;
    },
    get state() {
      return structuredClone(state);
    },
    get view() {
      return view;
    },
  };
  controls(ask);
  startSteps();
  startTree();
  startMask();
  onPick(() => {
    showPicked();
    showPickedRow();
    showText();
    showOne();
  });
  onStep(() => {
    drawMask();
    showOne();
    showLengths();
  });
  onTheme(() => view.answer && showWorth());
  $(".sv-grow-below").after(
    pictures([
      ["draft tree", wholeTree],
      ["attention mask", () => $(".sv-grow-mask")],
    ]),
  );
  startLive(config);
  write = keepLink();
  ask();
}

/** @param {Config} config */
function startLive({ drafters, prompt, most }) {
  /** @type {HTMLSelectElement} */
  const drafter = $("#sv-grow-drafter");
  drafter.replaceChildren(...drafters.map(([name, title]) => new Option(title, name)));
  /** @type {HTMLInputElement} */
  const text = $("#sv-grow-prompt");
  text.value = prompt;
  fillLive();
  $("#sv-grow-skip").setAttribute("max", String(most.skip));
  $(".sv-grow-liveform").addEventListener("submit", (event) => {
    event.preventDefault();
    there(byId("sv-grow-go")).click();
  });
  $("[data-do=stop]").addEventListener("click", () => there(byId("sv-grow-stop")).click());
  $("[data-do=throw]").addEventListener("click", () => {
    state.seed += 1;
    ask();
  });
  $(".sv-grow-cold").addEventListener("change", ({ target }) => {
    state.cold = target instanceof HTMLInputElement && target.checked;
    ask();
  });
  $(".sv-grow-asked").addEventListener("submit", (event) => event.preventDefault());
  showControls();
  /** @type {HTMLInputElement} */
  const cold = $(".sv-grow-cold");
  cold.checked = state.cold;
}
