// A figure that Python made with plotly, drawn again for another width or theme. A figure with a
// width (`width`) or a least width (`minreducedwidth`) keeps it, and scrolls sideways where there is
// less space. A click on one of its points is an event of its component, `point`.

import { onTheme } from "./page";
import { drawFigure, fetchPlotly } from "./plot";
import { render } from "./view";

import type { Drawing } from "./plotly";
import type { Start } from "./section";

interface Config {
  file: string;
  event: string;
}
interface Clicked {
  points: { x: unknown; y: unknown; customdata?: unknown }[];
}

const LETTER = 6.5; // px of a letter of a caption
const NEAR = 60; // px around a selected point that are shown, too

/** Save what an element shows, with its sentence above, in lines that fit. */
function save(place: HTMLElement, file: string, format: "svg" | "png") {
  const { data, layout } = place as unknown as Drawing; // plotly keeps them there
  const longest = Math.floor(place.scrollWidth / LETTER);
  const lines = (layout.meta ?? "").match(new RegExp(`.{1,${longest}}(\\s|$)`, "g")) ?? [];
  const text = lines
    .map((line) => line.replaceAll("&", "&amp;").replaceAll("<", "&lt;"))
    .join("<br>");
  const top = 18 * lines.length + 34;
  const title = {
    text,
    font: { size: 12 },
    x: 0,
    xanchor: "left",
    y: 1,
    yanchor: "top",
    pad: { t: 8, l: 8 },
  };
  const margin = { ...Object(layout.margin), t: top };
  const size = { width: place.scrollWidth, height: layout.height + top };
  const filename = "specviz-" + file;
  return window.Plotly.downloadImage(
    { data, layout: { ...layout, title, margin, ...size } },
    { format, filename, ...size, scale: 2 },
  );
}

const Saver = (place: HTMLElement, file: string) => [
  "Save this picture: ",
  ...(["svg", "png"] as const).map((format) => (
    <button key={format} type="button" class="sv-link" onClick={() => save(place, file, format)}>
      {format.toUpperCase()}
    </button>
  )),
];

/** Scroll a drawing, but not the page, to its selected points; if not all fit, to the first one. */
function reveal(place: HTMLElement, { data, layout }: Drawing) {
  const { x = [], y = [], selectedpoints = [] } = data[data.length - 1] ?? {};
  if (!selectedpoints.length || !layout.width) return;
  const zoom = layout.width / layout.xaxis.range[1];
  const scrolled = (at: number[], low: number, shown: number) => {
    const places = selectedpoints.map((point) => at[point] * zoom);
    const [first, last] = [Math.min(...places) - NEAR, Math.max(...places) + NEAR];
    const [from, to] = last - first <= shown ? [first, last] : [places[0] - NEAR, places[0] + NEAR];
    return from >= low && to <= low + shown ? low : (from + to - shown) / 2;
  };
  place.scrollTo(
    scrolled(x, place.scrollLeft, place.clientWidth),
    scrolled(y, place.scrollTop, place.clientHeight),
  );
}

export const start: Start<Config> = (element, props, watch, trigger, config) => {
  const place = element.querySelector<HTMLElement>(".sv-figure-plot");
  const saver = element.querySelector<HTMLElement>(".sv-pictures");
  if (!place || !saver) return;
  let wide = 0;
  let listens = false;

  async function draw() {
    if (!place || !props.value || !wide) return;
    await fetchPlotly();
    const drawing = JSON.parse(props.value);
    await drawFigure(place, drawing, wide);
    reveal(place, drawing);
    if (listens) return;
    listens = true;
    // Plotly adds this method to the element when it draws there for the first time.
    (place as unknown as { on: (name: string, heard: (event: Clicked) => void) => void }).on(
      "plotly_click",
      ({ points: [{ x, y, customdata }] }) => trigger(config.event, { x, y, customdata }),
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
