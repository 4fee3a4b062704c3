// Tabs, and passing data from one part of the page to another, on any tab.

import { isSelected, noTab, tabButton } from "./gradio";

type Take = (data: object) => void;
const takers: Map<string, Take> = new Map(); // parts that have started
const handed: Map<string, object> = new Map(); // the newest data for each of the others

// Pass `data` to a part, which may not have started yet.
export function hand(part: string, data: object) {
  const take = takers.get(part);
  if (take) take(data);
  else handed.set(part, data);
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
  const waiting = handed.get(part);
  handed.delete(part);
  takers.set(part, take as Take);
  if (waiting) take(waiting as Data);
}
