// The lists of positions and shapes, and a live position that all sections list.

import { expect } from "../../shared/tabs.js";
import { h } from "../../shared/view.js";

/** @typedef {{ place: string, title: string }} Handed A live position, passed from one section to another. */

/** @param {[value: string, title: string][]} rows @param {string} chosen */
export const Options = (rows, chosen) =>
  rows.map(([value, title]) =>
    h("option", { key: value, value, selected: value === chosen }, title),
  );

/**
 * List a live position in place of the previous one.
 * @param {string} part @param {(row: [place: string, title: string]) => void} list
 */
export const listLive = (part, list) =>
  expect(part, (/** @type {Handed} */ { place, title }) => list([place, title]));
