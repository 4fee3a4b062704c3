// Numbers saved as files: rows as CSV for a spreadsheet, or data as JSON. The page has all of them.

import { save } from "./picture";
import { Button } from "./view";

/** null: nothing was measured. */
export type Field = string | number | boolean | null;
/** Fields by the name of their column. */
export type DataRow = Record<string, Field>;

// A spreadsheet computes a text that begins like this, or drops its first letter.
const FORMULA = /^(\s*[=+\-@＝＋－＠]|[\t\r\n])/;
const BYTE_ORDER_MARK = "\ufeff"; // by which spreadsheets know UTF-8

function csvField(value: Field) {
  if (value === null) return "";
  const text = typeof value === "string" && FORMULA.test(value) ? "'" + value : String(value);
  return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

/**
 * Rows as CSV (RFC 4180), with a column for every name in any of them. A text that a spreadsheet
 * would compute gets an apostrophe in front.
 */
function csvOf(rows: DataRow[]) {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const table = [columns, ...rows.map((row) => columns.map((column) => row[column] ?? null))];
  return BYTE_ORDER_MARK + table.map((line) => line.map(csvField).join(",") + "\r\n").join("");
}

/**
 * Save numbers as a file.
 * @param name The name of the file, without its ending.
 * @param rows Its content as CSV.
 * @param data Its content as JSON.
 */
export function saveData(kind: "CSV" | "JSON", name: string, rows: DataRow[], data: object) {
  const [type, text] =
    kind === "CSV"
      ? ["text/csv", csvOf(rows)]
      : ["application/json", JSON.stringify(data, null, 1) + "\n"];
  save(new Blob([text], { type }), "specviz-" + name + "." + kind.toLowerCase());
}

/**
 * Two buttons that save numbers as files.
 * @param what The name of the numbers, for screen readers.
 * @param name Returns the name of the file, without its ending.
 */
export function DataButtons(
  what: string,
  name: () => string,
  rows: () => DataRow[],
  data: () => object,
) {
  const saver = (kind: "CSV" | "JSON") =>
    Button("Save as " + kind, () => saveData(kind, name(), rows(), data()), {
      class: "sv-link",
      "aria-label": "Save as " + kind + ": " + what,
    });
  return (
    <span class="sv-saver" key="data">
      {saver("CSV")} {saver("JSON")}
    </span>
  );
}
