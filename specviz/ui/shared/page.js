// The page around the sections: its theme, and where sections publish their functions.

import { isDark } from "./gradio.js";

/** @import { Section, Shared } from "./section.js" */

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
