// What every part asks of the page around it: the theme, and whether the server is still there.

import { PLOTLY } from "./given.js";
import { isDark } from "./gradio.js";

/** @import { Section, Shared } from "./data.js" */

window.specviz = window.specviz || {};

// Where sections of a kind put their public faces, by name: `window.specviz[kind]`.
/** @param {Shared} kind @returns {Record<string, Section>} */
export const page = (kind) => (window.specviz[kind] = window.specviz[kind] || {});

// Calls `repaint` whenever the page turns dark or light.
/** @param {() => void} repaint */
export function onTheme(repaint) {
  let dark = isDark();
  new MutationObserver(() => {
    if (dark === isDark()) return;
    dark = !dark;
    repaint();
  }).observe(document.body, { attributes: true, attributeFilter: ["class"] });
}

// Nobody tells the page that the server is gone: while a job is `underWay` it asks now and then.
/** @param {() => boolean} underWay @param {() => void} lost */
export async function knock(underWay, lost) {
  await new Promise((done) => setTimeout(done, 5000));
  if (!underWay()) return;
  const there = await fetch(PLOTLY, { method: "HEAD", cache: "no-store" }).then(
    () => true,
    () => false,
  );
  if (!underWay()) return;
  if (there) knock(underWay, lost);
  else lost();
}
