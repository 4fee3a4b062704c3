// Figures: plotly is fetched when the first one is on screen; colours are names that the style sheet
// defines.

import { PLOTLY, TRACE } from "./given";
import { isDark } from "./gradio";
import { SERVER } from "./server";
import { there } from "./there";

import type { Figure, Plotly, Trace } from "./plotly";

const ADDRESS = new URL(PLOTLY, SERVER);
export let plotly: Plotly | null = null;
let fetched: Promise<Plotly> | null = null;

export function fetchPlotly() {
  if (!fetched) {
    fetched = new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = ADDRESS.href;
      script.charset = "utf-8";
      script.onload = () => {
        plotly = window.Plotly;
        resolve(window.Plotly);
      };
      script.onerror = () => reject(new Error("plotly.js could not be loaded"));
      document.head.append(script);
    });
  }
  return fetched;
}

const shades: Map<string, string> = new Map(); // colours of the current theme's style sheet by name
let dark = false;

// Colours are read only once per theme, because each reading makes the browser compute the styles
// of everything that has changed.
function shade(name: string, style: CSSStyleDeclaration) {
  const now = isDark();
  if (now !== dark) shades.clear();
  dark = now;
  const known = shades.get(name);
  if (known) return known;
  const found = style.getPropertyValue("--sv" + name.slice(1)).trim();
  shades.set(name, found);
  return found;
}

// Replace names such as "--p" by the style sheet's colours, anywhere in a figure.
function resolved<Value>(value: Value, style: CSSStyleDeclaration): Value {
  return coloursOf(value, style) as Value;
}

function coloursOf(value: unknown, style: CSSStyleDeclaration): unknown {
  if (typeof value === "string") {
    return value.startsWith("--") ? shade(value, style) : value;
  }
  if (Array.isArray(value)) {
    return typeof value[0] === "string" ? value.map((item) => coloursOf(item, style)) : value;
  }
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, coloursOf(v, style)]));
  }
  return value;
}

// Only names of colours begin with two dashes; texts in a figure are not passed to `resolved`.
function coloured(trace: Trace, style: CSSStyleDeclaration) {
  const { text, hovertext, ...rest } = trace;
  const made: Partial<Trace> = { ...(trace.type ? {} : TRACE), ...resolved(rest, style) };
  if (text !== undefined) made.text = text;
  if (hovertext !== undefined) made.hovertext = hovertext;
  return made;
}

const shown: WeakMap<HTMLElement, string> = new WeakMap(); // what each element shows, since many steps do not change a figure

export function plot(place: HTMLElement, figure: Figure | null | undefined) {
  place.hidden = !figure;
  // Space for the figure until plotly has arrived, so that nothing moves then.
  place.style.minHeight = figure && !plotly ? figure.layout.height + "px" : "";
  if (!figure || !plotly) return;
  const width = Math.min(figure.layout.width, roomOf(place) || figure.layout.width);
  const asked = JSON.stringify([figure, width, isDark()]);
  if (shown.get(place) === asked) return;
  const style = getComputedStyle(place);
  const traces = Object.keys(figure.data)
    .sort()
    .map((key) => coloured(figure.data[key], style));
  const layout = resolved(figure.layout, style);
  layout.width = width;
  layout.hoverlabel = {
    bgcolor: resolved("--panel", style),
    font: { color: resolved("--ink", style) },
  };
  plotly.react(place, traces, layout, { displayModeBar: false, responsive: false });
  // Plotly's clip paths refer to the page's address, which changes with every step; no figure needs
  // them.
  for (const clipped of place.querySelectorAll("[clip-path]")) clipped.removeAttribute("clip-path");
  shown.set(place, asked);
}

const roomOf = (place: HTMLElement) => there(place.parentElement).clientWidth;

// Return the position of a pointer in a figure's own units, from its margins and ranges: [x, y].
export function unitsAt(place: HTMLElement, { layout }: Figure, event: MouseEvent) {
  const { left, top } = place.getBoundingClientRect();
  const { l, r, t, b } = layout.margin;
  const [west, east] = layout.xaxis.range;
  const [south, north] = layout.yaxis.range;
  const width = Math.min(layout.width, roomOf(place) || layout.width);
  const x = (event.clientX - left - l) / (width - l - r);
  const y = (event.clientY - top - t) / (layout.height - t - b);
  return [west + x * (east - west), north - y * (north - south)];
}
