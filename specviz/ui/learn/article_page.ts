// The article's own script: it uses the system's light or dark theme, sets the heights of figures,
// lets them be saved as pictures, and highlights numbers of the text in the figure of their section.

const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => document.body.classList.toggle("dark", dark.matches);
dark.addEventListener("change", paint);
paint();

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
