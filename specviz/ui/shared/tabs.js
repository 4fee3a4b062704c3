// Tabs, and passing data from one part of the page to another, on any tab.

import { isSelected, noTab, tabButton } from "./gradio.js";
import "./page.js";

/** @type {Record<string, object>} */
const handed = window.specviz.handed || {};
window.specviz.handed = handed;

// Pass `data` to a part, which may not have started yet.
/** @param {string} part @param {object} data */
export function hand(part, data) {
  handed[part] = data;
  window.dispatchEvent(new CustomEvent("sv-handed", { detail: part }));
}

// Find a tab's button; it may appear only after a part's script has run, and get its listeners even
// later.
/** @param {string} tab Its name or key. */
export async function openTab(tab) {
  for (let tries = 0; tries < 100; tries++) {
    const button = tabButton("sv-tabs", tab);
    if (button && isSelected(button)) return;
    if (button) button.click();
    // Gradio usually opens it in a microtask, before the browser paints.
    await (tries && new Promise((done) => setTimeout(done, 50)));
  }
  noTab(tab);
}

// Open a tab by its name, scroll to its top, and pass `data` to a part in it.
/** @param {string} tab @param {string} part @param {object} data */
export async function visit(tab, part, data) {
  hand(part, data);
  await openTab(tab);
  window.scrollTo(0, 0);
}

// Call `take` with all data that is passed to the part called `part`, now and later.
/** @template {object} Data @param {string} part @param {(data: Data) => void} take */
export function expect(part, take) {
  const look = () => {
    if (!Object.hasOwn(handed, part)) return;
    const data = /** @type {Data} */ (handed[part]);
    delete handed[part];
    take(data);
  };
  window.addEventListener("sv-handed", (event) => event.detail === part && look());
  look();
}
