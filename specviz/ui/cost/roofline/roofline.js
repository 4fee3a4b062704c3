// Wires the controls, lists the sources, sends the first question.

import { el } from "../../shared/dom.js";
import { onTheme } from "../../shared/page.js";
import { pictures } from "../../shared/picture.js";
import { fetchPlotly } from "../../shared/plot.js";
import { there } from "../../shared/there.js";
import { begin, onTerms, setTerms } from "../shared/terms.js";
import { draw, request, show, toRow } from "./answer.js";
import { ask, question } from "./ask.js";
import { fill, follow, fromAddress, link, moved, named, options, questions } from "./controls.js";
import { $, stage } from "./stage.js";

/** @import { Start } from "../../shared/data.js" */
/** @import { Choice, Config, Control, Option, Preset, Sourced } from "./data.js" */

function sourceList() {
  const letters = Object.entries(stage.config.evidence).map(([letter, meaning]) =>
    el("div", "", el("dt", "sv-roofline-letter", letter), el("dd", "", meaning)),
  );
  $(".sv-roofline-evidence").replaceChildren(...letters);
  const { machines, models, efficiencies } = stage.config;
  /** @type {Sourced[]} */
  const presets = [machines, models, efficiencies].flatMap((each) => Object.values(each));
  const made = presets.map((preset) => {
    const rows = preset.sources.map((source) =>
      el("li", "", link(source), source[3] ? ": " + source[3] : ""),
    );
    const sheet =
      preset.sheet &&
      el(
        "li",
        "",
        "vendor’s data sheet, as cited by these sources (not read itself): ",
        preset.sheet,
      );
    return el(
      "div",
      "",
      el("h4", "", preset.title),
      el("ul", "", ...rows, sheet || null),
      preset.note ? el("p", "", preset.note) : null,
    );
  });
  $(".sv-roofline-list").replaceChildren(...made);
}

function wire() {
  for (const [name, [least, most]] of Object.entries(stage.config.limits)) {
    const box = /** @type {HTMLInputElement} */ (named(name));
    box.min = String(least);
    box.max = String(most);
  }
  /** @type {HTMLInputElement} */
  const slide = $("[data-slide=batch]");
  slide.max = String(stage.config.stops.length - 1);
  slide.addEventListener("input", () => {
    named("batch").value = String(stage.config.stops[Number(slide.value)]);
  });
  $(".sv-roofline-form").addEventListener("input", (event) => {
    moved(/** @type {Control} */ (event.target).name);
  });
}

/** @param {string} figure @returns {HTMLElement} */
const section = (figure) => there($(`[data-figure=${figure}]`).closest("section"));

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  question.wire(request, show);
  /** @param {Record<string, Preset>} presets @returns {Option[]} */
  const titled = (presets) => Object.entries(presets).map(([name, { title }]) => [name, title]);
  options(named("hardware"), titled(stage.config.machines));
  options(named("model"), titled(stage.config.models));
  questions();
  sourceList();
  $(".sv-roofline-reached").textContent = Object.values(config.efficiencies)
    .map(({ title, reported }) => title + ": " + reported)
    .join(" ");
  $(".sv-roofline-figures").after(
    pictures([
      ["speed-up by batch", () => section("speed")],
      ["time of a pass", () => section("pass")],
      ["best γ", () => section("gamma")],
    ]),
  );
  wire();
  begin(stage.config.terms);
  fromAddress();
  window.specviz.roofline = {
    request,
    /** @param {Choice & { alpha?: number, gamma?: number }} values */
    ask({ alpha, gamma, ...values }) {
      fill(values);
      setTerms({ alpha, gamma });
    },
    get asked() {
      return question.number;
    },
    get idle() {
      return question.idle;
    },
  };
  onTheme(draw);
  let wide = 0;
  new ResizeObserver(() => {
    const now = $(".sv-roofline-out").clientWidth;
    if (now && now !== wide) draw();
    wide = now;
  }).observe(element);
  onTerms(follow);
  $(".sv-roofline-row").addEventListener("click", toRow);
  fetchPlotly().then(() => draw());
  ask();
}
