// The tab in the page's address: ?alpha=0.8&gamma=5&c=0.05&batch=64 leads back to what is asked here.
// The keys are there while the tab is, so that a link made on another tab opens that one.

/** @import { Noted } from "./data.js" */

const given = new URLSearchParams(location.search);
/** @type {Record<string, Noted>} */
const parts = {};
let touched = given.has("alpha") || given.has("gamma") || given.has("c");
let here = true;
let writing = 0; // the timer until the address is changed

/** @param {string} name */
export const linkedText = (name) => given.get(name);

// A number that the link gives; null where it gives none.
/** @param {string} name */
export function linked(name) {
  const text = given.get(name);
  return text === null || text.trim() === "" || !Number.isFinite(Number(text))
    ? null
    : Number(text);
}

// What a part of the tab has to say; null: nothing, as usual.
/** @param {string} part @param {Noted} values */
export function note(part, values) {
  parts[part] = values;
  if (touched && here) later();
}

// Somebody chose something: from now on the address follows.
export function touch() {
  touched = true;
  later();
}

// Who wants a link to this tab gets one, even if nothing was chosen.
window.addEventListener("sv-link", () => {
  if (!here) return;
  touched = true;
  write();
});

/** @param {boolean} is */
export function onScreen(is) {
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
