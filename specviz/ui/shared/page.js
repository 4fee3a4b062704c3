// The page around the sections: its theme, and where sections publish their functions.

import { isDark } from "./gradio.js";

/** @import { Section, Shared } from "./section.js" */

window.specviz = window.specviz || {};

// Where sections of a kind publish their functions, by name: `window.specviz[kind]`.
/** @param {Shared} kind @returns {Record<string, Section>} */
export const page = (kind) => (window.specviz[kind] = window.specviz[kind] || {});

/** Keeps a text for the visit; none is forgotten. @param {string} key @param {string} [value] */
export function store(key, value) {
  try {
    if (value === undefined) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, value);
  } catch {
    // A page in a frame may be denied all storage: a reload then ends its jobs.
  }
}

/** What is kept for the visit. @param {string} key */
export function stored(key) {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return null;
  }
}

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
