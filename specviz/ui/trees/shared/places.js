// A position that was looked at live: the tab's other sections list it too.

import { expect } from "../../shared/tabs.js";

/** @import { Handed } from "./data.js" */

/** Lists a live position in the place of the one before. @param {string} part @param {() => HTMLSelectElement} list */
export function listLive(part, list) {
  expect(part, (/** @type {Handed} */ { place, title }) => {
    for (const old of [...list().options]) if (old.value.startsWith("live:")) old.remove();
    list().prepend(new Option(title, place));
  });
}
