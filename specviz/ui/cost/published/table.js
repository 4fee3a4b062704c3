// Tables that fold into cards on a narrow screen: each cell carries its column's name.

import { el } from "../../shared/dom.js";
import { stage } from "./stage.js";

export const read = (letter) => Object.fromEntries(stage.config.evidence)[letter]; // how a number was read

// columns: [heading, class, made from a row]. The first cell is the row's own heading.
export function tabled(caption, columns, rows) {
  const head = el(
    "tr",
    "",
    ...columns.map(([title, name]) => headed("th", name, "columnheader", title)),
  );
  const body = rows.map((row) => {
    const cells = columns.map(([title, name, made], at) => {
      const cell = headed(at ? "td" : "th", name, at ? "cell" : "rowheader", made(row));
      cell.dataset.label = title;
      if (!at) cell.scope = "row";
      return cell;
    });
    return headed("tr", row.slower ? "sv-headline-slower" : "", "row", ...cells);
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
  for (const cell of head.children) cell.scope = "col";
  return made;
}

// Said outright, since a table that is laid out as cards is none to a screen reader.
function headed(tag, name, role, ...children) {
  const made = el(tag, name, ...children);
  made.setAttribute("role", role);
  return made;
}

// Text, or that the source does not say it.
export function saying(text) {
  return text ? text : el("span", "sv-headline-unsaid", "not said");
}

export function lines(...parts) {
  return el(
    "div",
    "sv-headline-lines",
    ...parts.filter(Boolean).map((part) => el("div", "", part)),
  );
}

// A link that opens by itself, and the letter for how the number was read there.
export function cited(source) {
  const letter = el("abbr", "sv-headline-letter", source.evidence);
  letter.title = read(source.evidence) || "";
  const made = el("div", "sv-headline-cited", linked(source), letter);
  if (source.note) made.append(el("small", "", source.note));
  return made;
}

function linked(source) {
  if (!source.url.startsWith("https://")) return el("span", "", source.title);
  const link = el("a", "", source.title);
  link.href = source.url;
  link.rel = "noopener noreferrer";
  link.target = "_blank";
  return link;
}

export function options(select, pairs) {
  select.replaceChildren(
    ...pairs.map(([value, text]) => {
      const made = el("option", "", text);
      made.value = value;
      return made;
    }),
  );
}
