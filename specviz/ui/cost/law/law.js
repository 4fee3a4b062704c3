// Event wiring, and the section's public object `window.specviz.law`.

import { onTheme } from "../../shared/page.js";
import { pictures } from "../../shared/picture.js";
import { fetchPlotly, plotly, unitsAt } from "../../shared/plot.js";
import { expect, openTab } from "../../shared/tabs.js";
import { there } from "../../shared/there.js";
import { setTerms } from "../shared/terms.js";
import { question, request } from "./ask.js";
import { fields } from "./fields.js";
import { fromCompare, fromStep, take } from "./runs.js";
import { tell } from "./say.js";
import { last, paint, show } from "./show.js";
import { $, stage } from "./stage.js";
import { state } from "./state.js";

/** @import { Start } from "../../shared/data.js" */
/** @import { Config } from "./data.js" */

// A click on the map sets the sliders; with the keyboard, use the sliders themselves.
/** @param {MouseEvent} event */
function goThere(event) {
  if (!last || !plotly || stage.element.closest(".sv-large")) return;
  const [x, y] = unitsAt($(".sv-law-map"), last.map, event);
  const [bottom, top] = last.map.layout.yaxis.range;
  if (x < 0 || x > 1 || y < bottom || y > top) return;
  const alpha = Number(x.toFixed(2));
  if (state.map === "gamma") return setTerms({ alpha, gamma: Math.round(y) });
  state.c = Number(y.toFixed(2));
  setTerms({ alpha });
}

/** @param {string} plot @returns {HTMLElement} */
const figure = (plot) => there($(plot).closest("figure"));

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  question.wire(request, show);
  window.specviz.law = {
    request,
    get idle() {
      return question.idle;
    },
    get state() {
      return { ...state };
    },
    get last() {
      return last;
    },
  };
  fields();
  $(".sv-law-trees").before(
    pictures([
      ["speed-up by draft length", () => figure(".sv-law-speed")],
      ["time and arithmetic", () => figure(".sv-law-time")],
      ["surface", () => figure(".sv-law-map")],
    ]),
  );
  $("[data-do=take]").addEventListener("click", take);
  $("[data-do=step]").addEventListener("click", () => openTab("Step"));
  $(".sv-law-map").addEventListener("click", goThere);
  window.addEventListener("sv-measured", fromStep);
  onTheme(paint);
  let wide = 0;
  new ResizeObserver(() => {
    if (wide === element.clientWidth) return;
    wide = element.clientWidth;
    paint();
  }).observe(element);
  fetchPlotly().then(
    () => paint(),
    (problem) => tell(problem.message),
  );
  fromStep();
  expect("sv-law", fromCompare);
}
