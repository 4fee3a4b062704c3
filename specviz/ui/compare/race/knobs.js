// A lane's settings: as text such as "gamma=8 siblings=3,2", as values of Step's fields, as a summary.
// What is said and what is left out is as request.py's `shape` and settings/summary.py have it.

/** @import { Field, Known, Value } from "./data.js" */

// The settings in a text, by name.
/** @param {string} text @returns {Partial<Record<string, string>>} */
function said(text) {
  const pairs = text.split(/\s+/).filter((pair) => pair.includes("="));
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf("=");
      return [pair.slice(0, at).replaceAll("-", "_"), pair.slice(at + 1)];
    }),
  );
}

// A field's value as written in a text.
/** @param {Field} field @param {Value} value */
function typed({ kind }, value) {
  if (value === null) return "";
  if (kind === "wholes" || kind === "paths")
    return String(value)
      .replace(/\s+/g, "")
      .replace(/[,;]+$/, "");
  return typeof value === "number" ? String(Number(value.toPrecision(12))) : value;
}

// The values of the fields for a text; the drafter's defaults for settings it does not name.
/** @param {Field[]} fields @param {Known} known @param {string} text @returns {Value[]} */
export function filled(fields, known, text) {
  const told = said(text);
  return fields.map(({ name, kind }, at) => {
    const words = told[name];
    if (words === undefined) return known.usual[at];
    if (kind === "wholes") return words.replaceAll(",", ", ");
    if (kind === "paths") return words.replaceAll(";", "; ");
    return kind === "word" || Number.isNaN(Number(words)) ? words : Number(words);
  });
}

// The text for these values of the fields; settings without a field are kept.
/** @param {Field[]} fields @param {Known} known @param {string} text @param {Value[]} values */
export function written(fields, known, text, values) {
  const rows = fields
    .map((field, at) => ({
      field,
      now: typed(field, values[at]),
      usual: typed(field, known.usual[at]),
    }))
    .filter(({ field }) => known.reads.includes(field.name));
  const rest = Object.entries(said(text)).filter(
    ([name]) => !rows.some(({ field }) => field.name === name),
  );
  const loud = rows.filter(
    ({ field, now, usual }) =>
      now !== usual || (!field.quiet && (field.always || (now !== "" && now !== "0"))),
  );
  loud.sort((one, other) => one.field.place - other.field.place);
  const pairs = [...loud.map(({ field, now }) => [field.name, now]), ...rest];
  return pairs.map(([name, value]) => name?.replaceAll("_", "-") + "=" + value).join(" ");
}

/** @type {Partial<Record<string, (typed: string) => string>>} */
const BRIEF = {
  wholes: (list) =>
    list.split(",").some((one) => Number(one) > 1) ? list.replaceAll(",", "·") : "",
  paths: (list) => (list ? String(list.split(";").length) : ""),
  named: (name) => (name === "auto" ? "" : name),
};

// A summary of the draft's shape.
/** @param {Field[]} fields @param {Known} known @param {string} text */
export function words(fields, known, text) {
  const told = said(text);
  const rows = fields.map((field, at) => {
    const value = told[field.name] ?? typed(field, known.usual[at]);
    const heeded = field.brief && known.reads.includes(field.name);
    const brief = heeded ? (BRIEF[field.kind] || String)(value) : "";
    return { ...field, words: brief && field.brief.replace("{}", brief) };
  });
  const gone = rows.filter((row) => row.words).map((row) => row.instead);
  const parts = rows.filter((row) => row.words && !gone.includes(row.name));
  return parts.map((row) => row.words).join(" · ");
}
