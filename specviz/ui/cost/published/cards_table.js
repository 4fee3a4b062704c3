// Tables that become cards on a narrow screen: each cell has its column's name.

import { classes, h } from "../../shared/view.js";

/** @import { ComponentChild } from "preact" */
/** @import { SourceData } from "./__init__.py" */

/**
 * A column: its heading, its class, and a row's cell.
 * @template Row
 * @typedef {[title: string, name: string, cell: (row: Row) => ComponentChild]} Column
 */

/** @typedef {{ method: string, place?: string, kind?: string }} CardRow */

/** @type {Partial<Record<string, string>>} */
const UNSAID = { A: "not in the abstract", 2: "not in the quotation" };
/** @type {Partial<Record<string, string>>} */
const READ = { A: "abstract only", 2: "second-hand: quoted by others" };

/**
 * A table with explicit roles, since screen readers do not recognize a table that is laid out as
 * cards. The first cell of a row is its heading.
 * @template {CardRow} Row
 * @param {string} caption
 * @param {Column<Row>[]} columns
 * @param {Row[]} rows
 * @param {string} [here] The place of the row that a link led to.
 */
export const CardsTable = (caption, columns, rows, here) =>
  h(
    "table",
    { role: "table" },
    h("caption", { class: "sv-unseen" }, caption),
    h(
      "thead",
      { role: "rowgroup" },
      h(
        "tr",
        { role: "row" },
        columns.map(([title, name]) =>
          h("th", { class: name, role: "columnheader", scope: "col" }, title),
        ),
      ),
    ),
    h(
      "tbody",
      { role: "rowgroup" },
      rows.map((row) => Row(columns, row, here)),
    ),
  );

/**
 * @template {CardRow} Row
 * @param {Column<Row>[]} columns @param {Row} row @param {string} [here]
 */
function Row(columns, row, here) {
  const { place, kind, method } = row;
  const name = classes(
    kind === "slower" && "sv-headline-slower",
    place && place === here && "sv-headline-here",
  );
  return h(
    "tr",
    { key: place ?? method, id: place && "sv-" + place, class: name, role: "row" },
    columns.map(([title, name, cell], at) =>
      at
        ? h("td", { class: name, role: "cell", "data-label": title }, cell(row))
        : h("th", { class: name, role: "rowheader", scope: "row", "data-label": title }, cell(row)),
    ),
  );
}

/**
 * A text, or a note that the source does not state it.
 * @param {string} text @param {string} [evidence] How it was read.
 */
export const Stated = (text, evidence = "") =>
  text || h("span", { class: "sv-headline-unsaid" }, UNSAID[evidence] || "not stated there");

/** @param {ComponentChild[]} parts */
export const Lines = (...parts) =>
  h(
    "div",
    { class: "sv-headline-lines" },
    parts.filter(Boolean).map((part) => h("div", null, part)),
  );

/**
 * A link to the source, with the letter of how it was read.
 * @param {SourceData} source
 * @param {Record<string, string>} meanings The meaning of each letter.
 */
export const Cited = ({ title, url, evidence, note }, meanings) =>
  h(
    "div",
    { class: "sv-headline-cited" },
    url.startsWith("https://")
      ? h("a", { href: url, rel: "noopener noreferrer", target: "_blank" }, title)
      : h("span", null, title),
    h("abbr", { class: "sv-headline-letter", title: meanings[evidence] ?? "" }, evidence),
    READ[evidence] && h("small", null, READ[evidence]),
    note && h("small", null, note),
  );
