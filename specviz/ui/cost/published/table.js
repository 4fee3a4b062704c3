// Tables that become cards on a narrow screen: each cell has its column's name.

import { el } from "../../shared/dom.js";
import { stage } from "./stage.js";

/** @import { Child } from "../../shared/data.js" */
/** @import { Column, Option, Source } from "./data.js" */

/** @param {string} letter */
export const read = (letter) => Object.fromEntries(stage.config.evidence)[letter]; // the meaning of a letter

/** @type {Partial<Record<string, string>>} */
const UNSAID = { A: "not in the abstract", 2: "not in the quotation" };
/** @type {Partial<Record<string, string>>} */
const READ = { A: "abstract only", 2: "second-hand: quoted by others" };

// columns: [heading, class, made from a row]. The first cell is the row's own heading.
/**
 * @template {object} Row
 * @param {string} caption
 * @param {Column<Row>[]} columns
 * @param {Row[]} rows
 */
export function tabled(caption, columns, rows) {
  const heads = columns.map(([title, name]) => headed("th", name, "columnheader", title));
  const head = el("tr", "", ...heads);
  const body = rows.map((row) => {
    const cells = columns.map(([title, name, made], at) => {
      const cell = at
        ? headed("td", name, "cell", made(row))
        : headed("th", name, "rowheader", made(row));
      cell.dataset.label = title;
      if (!at) cell.scope = "row";
      return cell;
    });
    const made = headed(
      "tr",
      "slower" in row && row.slower ? "sv-headline-slower" : "",
      "row",
      ...cells,
    );
    if ("place" in row) made.id = "sv-" + row.place;
    return made;
  });
  head.setAttribute("role", "row");
  const thead = headed("thead", "", "rowgroup", head);
  const made = headed(
    "table",
    "",
    "table",
    el("caption", "sv-unseen", caption),
    thead,
    headed("tbody", "", "rowgroup", ...body),
  );
  for (const cell of heads) cell.scope = "col";
  return made;
}

// Explicit roles, since a table laid out as cards is not one to a screen reader.
/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string} name
 * @param {string} role
 * @param {...Child} children
 */
function headed(tag, name, role, ...children) {
  const made = el(tag, name, ...children);
  made.setAttribute("role", role);
  return made;
}

// Text, or a note that the source does not state it.
/** @param {string} text @param {string} [evidence] How it was read. */
export function saying(text, evidence = "") {
  return text ? text : el("span", "sv-headline-unsaid", UNSAID[evidence] || "not stated there");
}

/** @param {...Child} parts */
export function lines(...parts) {
  return el(
    "div",
    "sv-headline-lines",
    ...parts.filter(Boolean).map((part) => el("div", "", part)),
  );
}

// A link to the source, and the letter for its kind.
/** @param {Source} source */
export function cited(source) {
  const letter = el("abbr", "sv-headline-letter", source.evidence);
  letter.title = read(source.evidence) || "";
  const made = el("div", "sv-headline-cited", linked(source), letter);
  if (READ[source.evidence]) made.append(el("small", "", READ[source.evidence]));
  if (source.note) made.append(el("small", "", source.note));
  return made;
}

/** @param {Source} source */
function linked(source) {
  if (!source.url.startsWith("https://")) return el("span", "", source.title);
  const link = el("a", "", source.title);
  link.href = source.url;
  link.rel = "noopener noreferrer";
  link.target = "_blank";
  return link;
}

/** @param {HTMLSelectElement} select @param {Option[]} pairs */
export function options(select, pairs) {
  select.replaceChildren(
    ...pairs.map(([value, text]) => {
      const made = el("option", "", text);
      made.value = value;
      return made;
    }),
  );
}
