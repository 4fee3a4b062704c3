// A live position: the tab's other sections list it too.

import { expect } from "../../shared/tabs.js";

/** @import { Handed } from "./data.js" */

/** List a live position in place of the previous one. @param {string} part @param {() => HTMLSelectElement} list */
export function listLive(part, list) {
  expect(part, (/** @type {Handed} */ { place, title }) => {
    for (const old of [...list().options]) if (old.value.startsWith("live:")) old.remove();
    list().prepend(new Option(title, place));
  });
}
