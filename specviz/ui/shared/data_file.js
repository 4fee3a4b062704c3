// Numbers saved as files: rows as CSV for a spreadsheet, or data as JSON. The page has all of them.

import { save } from "./picture.js";
import { Button, h } from "./view.js";

/** @typedef {string | number | boolean | null} Field null: nothing was measured. */
/** @typedef {Record<string, Field>} DataRow Fields by the name of their column. */

// A spreadsheet computes a text that begins like this, or drops its first letter.
const FORMULA = /^(\s*[=+\-@＝＋－＠]|[\t\r\n])/;
const BYTE_ORDER_MARK = "\ufeff"; // by which spreadsheets know UTF-8

/** @param {Field} value */
function csvField(value) {
  if (value === null) return "";
  const text = typeof value === "string" && FORMULA.test(value) ? "'" + value : String(value);
  return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

/**
 * Rows as CSV (RFC 4180), with a column for every name in any of them. A text that a spreadsheet
 * would compute gets an apostrophe in front.
 * @param {DataRow[]} rows
 */
export function csvOf(rows) {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const table = [columns, ...rows.map((row) => columns.map((column) => row[column] ?? null))];
  return BYTE_ORDER_MARK + table.map((line) => line.map(csvField).join(",") + "\r\n").join("");
}

/**
 * Two buttons that save numbers as files.
 * @param {string} what The name of the numbers, for screen readers.
 * @param {() => string} name Returns the name of the file, without its ending.
 * @param {() => DataRow[]} rows
 * @param {() => object} data
 */
export function DataButtons(what, name, rows, data) {
  /** @param {string} kind @param {string} type @param {() => string} text */
  const saver = (kind, type, text) =>
    Button(
      "Save as " + kind,
      () => save(new Blob([text()], { type }), "specviz-" + name() + "." + kind.toLowerCase()),
      { class: "sv-link", "aria-label": "Save as " + kind + ": " + what },
    );
  return h(
    "span",
    { class: "sv-saver", key: "data" },
    saver("CSV", "text/csv", () => csvOf(rows())),
    " ",
    saver("JSON", "application/json", () => JSON.stringify(data(), null, 1) + "\n"),
  );
}
