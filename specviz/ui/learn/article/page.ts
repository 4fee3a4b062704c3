// The article's own script: it uses the system's light or dark theme, draws the article's own
// figures, sets the heights of frames, lets them be saved as pictures, highlights numbers of the
// text in the frame of their section, and the section on screen in the contents.

import { required } from "../../shared/required";
import { startBars } from "./bars";
import { startGain } from "./gain";
import { startMask } from "./mask";
import { startWeights } from "./weights";

const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => document.body.classList.toggle("dark", dark.matches);
dark.addEventListener("change", paint);
paint();

const FIGURES: Record<string, (element: HTMLElement, values: never) => void> = {
  bars: startBars,
  gain: startGain,
  mask: startMask,
  weights: startWeights,
};
for (const element of document.querySelectorAll<HTMLElement>("[data-figure]")) {
  const { figure = "", values = "" } = element.dataset;
  FIGURES[figure](element, JSON.parse(values) as never);
}

const wide = matchMedia("(min-width: 1180px)");
const contents = required(document.querySelector<HTMLDetailsElement>("nav details"));
const unfold = () => {
  contents.open = wide.matches;
};
wide.addEventListener("change", unfold);
unfold();

const AT = 0.4; // of the window's height; the section there is the one on screen
const sections = [...document.querySelectorAll("section")];
function mark() {
  const here = sections
    .filter((each) => each.getBoundingClientRect().top < AT * innerHeight)
    .at(-1);
  for (const link of contents.querySelectorAll("a")) {
    if (here && link.hash === "#" + here.id) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}
document.addEventListener("scroll", mark, { passive: true });
mark();

function fit(frame: HTMLIFrameElement) {
  const inside = frame.contentDocument?.querySelector("main");
  if (!inside) return;
  inside.ownerDocument.body.classList.add("sv-saves");
  const measure = () => {
    frame.height = String(Math.ceil(inside.getBoundingClientRect().height));
  };
  new ResizeObserver(measure).observe(inside);
}

for (const frame of document.querySelectorAll("iframe"))
  frame.addEventListener("load", () => fit(frame));

function light({ target }: Event, on: boolean) {
  if (!(target instanceof HTMLElement) || !target.dataset.names) return;
  const inside = target.closest("section")?.querySelector("iframe")?.contentDocument;
  for (const each of inside?.querySelectorAll("[data-link]") ?? []) {
    const names = each.getAttribute("data-link")?.split("\n") ?? [];
    if (names.includes(target.dataset.names)) each.classList.toggle("sv-lit", on);
  }
}

document.addEventListener("pointerover", (event) => light(event, true));
document.addEventListener("pointerout", (event) => light(event, false));
