// What is wired once, and what others may use: `window.specviz.server`.

import { onTheme } from "../../shared/page.js";
import { pictures } from "../../shared/picture.js";
import { fetchPlotly } from "../../shared/plot.js";
import { there } from "../../shared/there.js";
import { ask, fault, question } from "./ask.js";
import { chosen, fill, named, paste, wire } from "./controls.js";
import { draw, show, take } from "./show.js";
import { $, stage } from "./stage.js";

/** @import { Start } from "../../shared/data.js" */
/** @import { Config } from "./data.js" */

// A real measurement, and the machine that it was made on.
function example() {
  const { text, said, site } = stage.config.example;
  paste(text);
  fill(site);
  $(".sv-server-from").textContent = said;
  ask();
}

function clear() {
  paste("");
  fill(stage.config.start);
  named("now").focus();
  ask();
}

/** @param {string} figure @returns {HTMLElement} */
const section = (figure) => there($(`[data-figure=${figure}]`).closest("section"));

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  question.wire(chosen, show);
  window.specviz.server = {
    request: chosen,
    get asked() {
      return question.number;
    },
    get idle() {
      return question.idle;
    },
  };
  wire();
  $(".sv-server-figures").after(
    pictures([
      ["acceptance by position", () => section("places")],
      ["speed-up by γ", () => section("outlook")],
    ]),
  );
  $("[data-do=example]").addEventListener("click", example);
  $("[data-do=clear]").addEventListener("click", clear);
  $("[data-do=take]").addEventListener("click", take);
  onTheme(draw);
  let wide = 0;
  new ResizeObserver(() => {
    if (wide === element.clientWidth) return;
    wide = element.clientWidth;
    draw();
  }).observe(element);
  fetchPlotly().then(draw, (problem) => fault(problem.message));
}
