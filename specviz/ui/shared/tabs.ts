// Tabs, and passing data from one part of the page to another, on any tab.

import { isSelected, noTab, tabButton } from "./gradio";
import "./page";

const handed: Record<string, object> = window.specviz.handed || {};
window.specviz.handed = handed;

// Pass `data` to a part, which may not have started yet.
export function hand(part: string, data: object) {
  handed[part] = data;
  window.dispatchEvent(new CustomEvent("sv-handed", { detail: part }));
}

// Find a tab's button; it may appear only after a part's script has run, and get its listeners even
// later.
/** @param tab Its name or key. */
export async function openTab(tab: string) {
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
export async function visit(tab: string, part: string, data: object) {
  hand(part, data);
  await openTab(tab);
  window.scrollTo(0, 0);
}

// Call `take` with all data that is passed to the part called `part`, now and later.
export function expect<Data extends object>(part: string, take: (data: Data) => void) {
  const look = () => {
    if (!Object.hasOwn(handed, part)) return;
    const data = handed[part] as Data;
    delete handed[part];
    take(data);
  };
  window.addEventListener("sv-handed", (event) => event.detail === part && look());
  look();
}
