// A figure that Python made with plotly, drawn again for another width or theme. A figure with a
// width (`width`) or a least width (`minreducedwidth`) keeps it, and scrolls sideways where there is
// less space. A click on one of its points is an event of its component, `point`.

import { isDark } from "./gradio";
import { onTheme } from "./page";
import { fetchPlotly } from "./plot";
import { render } from "./view";

import type { Start } from "./section";

interface Config {
  file: string;
  event: string;
}
interface Drawing {
  data: object[];
  layout: {
    width?: number;
    minreducedwidth?: number;
    height: number;
    meta: string;
    [more: string]: unknown;
  };
}
interface Clicked {
  points: { x: unknown; y: unknown }[];
}

const NAMES = ["bg", "panel", "line", "line2", "ink", "ink2", "ink3", "dead", "edge"];
const HUES = ["p", "p-ink", "p-soft", "q", "q-line", "q-ink", "q-soft", "b", "b-ink", "b-soft"];
const PINKS = ["r", "r-line", "r-soft"];

/** Return the dark theme's colours by those of the light one. */
function darkColours() {
  const [light, dark] = [document.documentElement, document.body].map((each) =>
    getComputedStyle(each),
  );
  const names = [...NAMES, ...HUES, ...PINKS].map((name) => "--sv-" + name);
  return new Map(
    names.map((name) => [light.getPropertyValue(name).trim(), dark.getPropertyValue(name).trim()]),
  );
}

/** Replace colours, which are below a property of that name; texts are data and stay. */
function coloured(value: unknown, colours: Map<string, string>, within = false): unknown {
  if (typeof value === "string") return (within && colours.get(value)) || value;
  if (Array.isArray(value)) return value.map((each) => coloured(each, colours, within));
  if (!value || typeof value !== "object") return value;
  const pairs = Object.entries(value).map(([key, each]) => {
    return [key, coloured(each, colours, within || /color/.test(key))];
  });
  return Object.fromEntries(pairs);
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
    const plotly = await fetchPlotly();
    const drawing: Drawing = JSON.parse(props.value);
    const { data, layout } = isDark() ? (coloured(drawing, darkColours()) as Drawing) : drawing;
    place.setAttribute("aria-label", layout.meta);
    const width = layout.width ?? Math.max(wide, layout.minreducedwidth ?? 0);
    // If it is wider than its place, it is scrolled by keyboard, too.
    if (width > wide) place.tabIndex = 0;
    else place.removeAttribute("tabindex");
    await plotly.react(place, data, { ...layout, width }, { displayModeBar: false });
    // Plotly's clip paths refer to the page's address, which changes; no figure needs them.
    for (const clipped of place.querySelectorAll("[clip-path]"))
      clipped.removeAttribute("clip-path");
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
