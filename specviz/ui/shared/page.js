// The page around the sections: its theme, and whether the server still answers.

import { PLOTLY } from "./given.js";
import { isDark } from "./gradio.js";

/** @import { Section, Shared } from "./data.js" */

window.specviz = window.specviz || {};

// Where sections of a kind publish their functions, by name: `window.specviz[kind]`.
/** @param {Shared} kind @returns {Record<string, Section>} */
export const page = (kind) => (window.specviz[kind] = window.specviz[kind] || {});

/** Calls `show` whenever a class of the page's body changes. @param {() => void} show */
export const onBodyClass = (show) =>
  new MutationObserver(show).observe(document.body, {
    attributes: true,
    attributeFilter: ["class"],
  });

// Calls `repaint` whenever the page turns dark or light.
/** @param {() => void} repaint */
export function onTheme(repaint) {
  let dark = isDark();
  onBodyClass(() => {
    if (dark === isDark()) return;
    dark = !dark;
    repaint();
  });
}

// The page is not told when the server is gone: while a job is `underWay` it asks now and then.
/** @param {() => boolean} underWay @param {() => void} onLost */
export async function watchServer(underWay, onLost) {
  await new Promise((done) => setTimeout(done, 5000));
  if (!underWay()) return;
  const isUp = await fetch(PLOTLY, { method: "HEAD", cache: "no-store" }).then(
    () => true,
    () => false,
  );
  if (!underWay()) return;
  if (isUp) watchServer(underWay, onLost);
  else onLost();
}
