// Wires the controls, reads a visitor's file, sends the first question.

import { onTheme } from "../../shared/page.js";
import { pictures } from "../../shared/picture.js";
import { fetchPlotly } from "../../shared/plot.js";
import { begin, onTerms, setTerms, shown, terms } from "../shared/terms.js";
import { ask, bring, fault, offerFiles, question, request } from "./ask.js";
import { draw, legend, receive, show } from "./show.js";
import { $, stage } from "./stage.js";

/** @import { Start } from "../../shared/data.js" */
/** @import { Config } from "./data.js" */

const UNREAD = "This file could not be read.";

/** @param {HTMLInputElement} picker */
async function picked(picker) {
  const [file] = picker.files ?? [];
  picker.value = ""; // the same file can be picked again
  if (!file) return;
  try {
    bring(file.name, await file.slice(0, 4 * stage.config.largest).text());
  } catch {
    fault(UNREAD);
  }
}

function wire() {
  /** @type {HTMLInputElement} */
  const picker = $(".sv-shapes-file");
  $(".sv-shapes-pick").addEventListener("click", () => picker.click());
  picker.addEventListener("change", () => picked(picker));
  /** @type {HTMLTextAreaElement} */
  const pasted = $(".sv-shapes-text");
  pasted.addEventListener("input", () => {
    if (pasted.value.trim()) bring("pasted text", pasted.value);
  });
  for (const select of stage.all("select")) select.addEventListener("change", ask);
  slide().addEventListener("input", () => setTerms({ alpha: Number(slide().value) }));
}

/** @returns {HTMLInputElement} */
const slide = () => $("[name=alpha]");

// The slider is the tab's own α.
function follow() {
  slide().value = String(terms.alpha);
  $(".sv-shapes-alpha").textContent = shown().alpha;
}

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  question.wire(request, receive);
  legend();
  wire();
  begin(stage.config.terms);
  follow();
  offerFiles(stage.config.files[0]?.[0]);
  window.specviz.shapes = {
    request,
    bring,
    get idle() {
      return question.idle;
    },
  };
  $(".sv-shapes-numbers").before(pictures([["passes", () => $(".sv-shapes-figure")]]));
  onTheme(draw);
  new ResizeObserver(draw).observe($(".sv-shapes-place"));
  onTerms(() => {
    follow();
    ask();
  });
  fetchPlotly().then(() => draw());
  if (stage.config.first) {
    show(stage.config.first);
    ask();
  } else fault("There are no measured costs. Open your own file, made with the command below.");
}
