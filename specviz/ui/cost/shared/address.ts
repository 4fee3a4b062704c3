// The tab's values in the page's address: ?alpha=0.8&gamma=5&c=0.05&batch=64. The address has them
// only while this tab is open, so that a link copied on another tab opens that tab.

/** Values by key; null if the address has no such key. */
export type Noted = Record<string, string | number | null>;

const given = new URLSearchParams(location.search);
const parts: Record<string, Noted> = {};
let touched = given.has("alpha") || given.has("gamma") || given.has("c");
let here = true;
let writing = 0; // the timer until the address is updated

export const linkedText = (name: string) => given.get(name);

// Return a number from the link; null if it has none.
export function linked(name: string) {
  const text = given.get(name);
  return text === null || text.trim() === "" || !Number.isFinite(Number(text))
    ? null
    : Number(text);
}

// Set the values of a part of the tab that belong in the address; null for a default value.
export function note(part: string, values: Noted) {
  parts[part] = values;
  if (touched && here) later();
}

// The visitor has changed something: from now on the address is kept up to date.
export function touch() {
  touched = true;
  later();
}

// A link to this tab that the visitor requests contains the values even if none was changed.
window.addEventListener("sv-link", () => {
  if (!here) return;
  touched = true;
  write();
});

export function onScreen(is: boolean) {
  if (is === here) return;
  here = is;
  if (touched) write();
}

function later() {
  clearTimeout(writing);
  writing = setTimeout(write, 300);
}

function write() {
  clearTimeout(writing);
  const url = new URL(location.href);
  for (const [name, value] of Object.values(parts).flatMap(Object.entries)) {
    if (here && value !== null) url.searchParams.set(name, String(value));
    else url.searchParams.delete(name);
  }
  history.replaceState(history.state, "", url);
}
