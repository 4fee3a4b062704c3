// A figure that Python made with plotly, drawn again for another width or theme. A figure with a
// width of its own keeps it, and scrolls sideways where there is less space. A click on one of its
// points is an event of its component, `point`.

import { onTheme } from "./page";
import { drawFigure, fetchPlotly } from "./plot";
import { render } from "./view";

import type { Start } from "./section";

interface Config {
  file: string;
  event: string;
}
interface Clicked {
  points: { x: unknown; y: unknown }[];
}

const Saver = (place: HTMLElement, file: string) => [
  "Save this picture: ",
  ...(["svg", "png"] as const).map((format) => (
    <button
      key={format}
      type="button"
      class="sv-link"
      onClick={() =>
        window.Plotly.downloadImage(place, {
          format,
          filename: "specviz-" + file,
          width: place.scrollWidth,
          height: place.scrollHeight,
          scale: 2,
        })
      }
    >
      {format.toUpperCase()}
    </button>
  )),
];

export const start: Start<Config> = (element, props, watch, trigger, config) => {
  const place = element.querySelector<HTMLElement>(".sv-figure-plot");
  const saver = element.querySelector<HTMLElement>(".sv-pictures");
  if (!place || !saver) return;
  let wide = 0;
  let listens = false;

  async function draw() {
    if (!place || !props.value || !wide) return;
    await fetchPlotly();
    await drawFigure(place, JSON.parse(props.value), wide);
    if (listens) return;
    listens = true;
    // Plotly adds this method to the element when it draws there for the first time.
    (place as unknown as { on: (name: string, heard: (event: Clicked) => void) => void }).on(
      "plotly_click",
      ({ points: [{ x, y }] }) => trigger(config.event, { x, y }),
    );
  }

  new ResizeObserver(() => {
    if (wide === element.clientWidth) return;
    wide = element.clientWidth;
    draw();
  }).observe(element);
  watch("value", draw);
  onTheme(draw);
  render(Saver(place, config.file), saver);
};
