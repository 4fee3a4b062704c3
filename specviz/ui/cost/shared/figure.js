// Figures drawn by plotly, as components that are drawn again for another width or theme.

import { onTheme } from "../../shared/page.js";
import { fetchPlotly, plot } from "../../shared/plot.js";
import { h } from "../../shared/view.js";

/** @import { Figure } from "../../shared/plotly.js" */

/**
 * A figure with its description; it is drawn only while its part of the page is on screen.
 * @param {string} name Its class.
 * @param {Figure | null | undefined} figure
 * @param {Record<string, unknown>} attributes
 */
export function Plot(name, figure, attributes) {
  /** @param {HTMLElement | null} place */
  const draw = (place) => {
    if (place?.parentElement?.clientWidth) plot(place, figure);
  };
  return h("div", { class: name, role: "img", ...attributes, ref: draw });
}

/**
 * Call `draw` when the element is on screen and plotly is loaded, and again whenever the theme or
 * the element's width changes.
 * @param {HTMLElement} element
 * @param {() => void} draw
 * @param {(sentence: string) => void} fault
 */
export function keepDrawn(element, draw, fault) {
  const section = element.querySelector("section") ?? element; // larger text zooms the section
  let wide = 0;
  new ResizeObserver(() => {
    if (wide === section.clientWidth) return;
    wide = section.clientWidth;
    if (wide) fetchPlotly().then(draw, (problem) => fault(problem.message));
  }).observe(section);
  onTheme(draw);
}
