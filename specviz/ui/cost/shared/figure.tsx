// Figures drawn by plotly, as components that are drawn again for another width or theme.

import { onTheme } from "../../shared/page";
import { fetchPlotly, plot } from "../../shared/plot";

import type { Figure } from "../../shared/plotly";

/**
 * A figure with its description; it is drawn only while its part of the page is on screen.
 * @param name Its class.
 */
export function Plot(
  name: string,
  figure: Figure | null | undefined,
  attributes: Record<string, unknown>,
) {
  const draw = (place: HTMLElement | null) => {
    if (place?.parentElement?.clientWidth) plot(place, figure);
  };
  return <div class={name} role="img" {...attributes} ref={draw} />;
}

/**
 * Call `draw` when the element is on screen and plotly is loaded, and again whenever the theme or
 * the element's width changes.
 */
export function keepDrawn(
  element: HTMLElement,
  draw: () => void,
  fault: (sentence: string) => void,
) {
  const section = element.querySelector("section") ?? element; // larger text zooms the section
  let wide = 0;
  new ResizeObserver(() => {
    if (wide === section.clientWidth) return;
    wide = section.clientWidth;
    if (wide) fetchPlotly().then(draw, (problem) => fault(problem.message));
  }).observe(section);
  onTheme(draw);
}
