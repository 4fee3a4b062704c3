// Figures that Python made with plotly, which is fetched when the first one is on screen. Their
// colours are those of the light theme.

import { isDark } from "./gradio";

import type { Drawing, Plotly } from "./plotly";

const ADDRESS = new URL("plotly.js", import.meta.url);
let fetched: Promise<Plotly> | null = null;

export function fetchPlotly() {
  if (!fetched) {
    fetched = new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = ADDRESS.href;
      script.charset = "utf-8";
      script.onload = () => resolve(window.Plotly);
      script.onerror = () => reject(new Error("plotly.js could not be loaded"));
      document.head.append(script);
    });
  }
  return fetched;
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

/**
 * Draw a figure in an element; one with a width (`width`) or a least width (`minreducedwidth`) keeps it.
 * @param wide The width of the others.
 */
export async function drawFigure(place: HTMLElement, drawing: Drawing, wide: number) {
  const plotly = await fetchPlotly();
  const { data, layout } = isDark() ? (coloured(drawing, darkColours()) as Drawing) : drawing;
  if (layout.meta) place.setAttribute("aria-label", layout.meta);
  const width = layout.width ?? Math.max(wide, layout.minreducedwidth ?? 0);
  await plotly.react(place, data, { ...layout, width }, { displayModeBar: false });
  // If it is larger than its place, it is scrolled by keyboard, too.
  if (width > wide || layout.height > place.clientHeight + 1) place.tabIndex = 0;
  else place.removeAttribute("tabindex");
  // Plotly's clip paths refer to the page's address, which changes; no figure needs them.
  for (const clipped of place.querySelectorAll("[clip-path]")) clipped.removeAttribute("clip-path");
}
