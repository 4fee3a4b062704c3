// Form fields of the tab's sections, as components.

import { h, render } from "../../shared/view.js";

/** @typedef {[value: string, title: string]} Option */

/** @param {Option[]} pairs */
export const Options = (pairs) =>
  pairs.map(([value, title]) => h("option", { key: value, value }, title));

/** Change the options of a list, and keep its choice if possible. @param {{ value: string } & Element} list @param {Option[]} pairs */
export function offerOptions(list, pairs) {
  const before = list.value;
  render(Options(pairs), list);
  list.value = pairs.some(([value]) => value === before) ? before : (pairs[0]?.[0] ?? "");
}

/** @param {Record<string, { title: string }>} presets @returns {Option[]} */
export const titled = (presets) =>
  Object.entries(presets).map(([name, { title }]) => [name, title]);

/**
 * A list to choose from.
 * @param {Record<string, unknown>} attributes
 * @param {Option[]} pairs
 * @param {string} value
 * @param {(value: string) => void} choose
 */
export const Choice = (attributes, pairs, value, choose) =>
  h(
    "select",
    {
      ...attributes,
      value,
      /** @param {Event & { currentTarget: HTMLSelectElement }} event */
      onChange: (event) => choose(event.currentTarget.value),
    },
    Options(pairs),
  );

/**
 * Return what a box shows: its value, or while the visitor types, the typed text.
 * @param {string} id
 * @param {string} value
 */
export const boxValue = (id, value) => (document.activeElement?.id === id ? undefined : value);

/**
 * Show a sentence about an error, or "" for none.
 * @param {HTMLElement} place @param {string} sentence
 */
export function notice(place, sentence) {
  place.textContent = sentence;
  place.hidden = !sentence;
}
