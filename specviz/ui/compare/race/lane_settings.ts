// A lane's settings in three forms: text such as "gamma=8 siblings=3,2", values of Step's fields,
// and a summary. The same settings are written or left out as in `shape` of request.py and in
// settings/summary.py.

import type { DrafterFacts } from "./form.py";
import type { Field } from "./lane.py";
import type { Value } from "./request.py";

// Return the settings in a text, by name.
function parse(text: string): Partial<Record<string, string>> {
  const pairs = text.split(/\s+/).filter((pair) => pair.includes("="));
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf("=");
      return [pair.slice(0, at).replaceAll("-", "_"), pair.slice(at + 1)];
    }),
  );
}

// Return a field's value as it is written in a text.
function valueText({ kind }: Field, value: Value) {
  if (value === null) return "";
  if (kind === "wholes" || kind === "paths")
    return String(value)
      .replace(/\s+/g, "")
      .replace(/[,;]+$/, "");
  return typeof value === "number" ? String(Number(value.toPrecision(12))) : value;
}

// Return the fields' values for a text; settings that it does not contain have the drafter's
// defaults.
export function fieldValues(fields: Field[], known: DrafterFacts, text: string): Value[] {
  const settings = parse(text);
  return fields.map(({ name, kind }, at) => {
    const value = settings[name];
    if (value === undefined) return known.defaults[at];
    if (kind === "wholes") return value.replaceAll(",", ", ");
    if (kind === "paths") return value.replaceAll(";", "; ");
    return kind === "word" || Number.isNaN(Number(value)) ? value : Number(value);
  });
}

// Return the text for these values of the fields; settings without a field are kept.
export function settingsText(fields: Field[], known: DrafterFacts, text: string, values: Value[]) {
  const rows = fields
    .map((field, at) => ({
      ...field,
      value: valueText(field, values[at]),
      isDefault: valueText(field, values[at]) === valueText(field, known.defaults[at]),
    }))
    .filter(({ name }) => known.reads.includes(name));
  const written = rows.filter(
    ({ value, isDefault, quiet, always }) =>
      !isDefault || (!quiet && (always || (value !== "" && value !== "0"))),
  );
  written.sort((one, other) => one.place - other.place);
  const others = Object.entries(parse(text)).filter(
    ([name]) => !rows.some((row) => row.name === name),
  );
  const pairs = [...written.map(({ name, value }) => [name, value]), ...others];
  return pairs.map(([name, value]) => name?.replaceAll("_", "-") + "=" + value).join(" ");
}

const BRIEF: Partial<Record<string, (text: string) => string>> = {
  wholes: (list) =>
    list.split(",").some((one) => Number(one) > 1) ? list.replaceAll(",", "·") : "",
  paths: (list) => (list ? String(list.split(";").length) : ""),
  named: (name) => (name === "auto" ? "" : name),
};

// Return a summary of the draft's shape.
export function summary(fields: Field[], known: DrafterFacts, text: string) {
  const settings = parse(text);
  const rows = fields.map((field, at) => {
    const value = settings[field.name] ?? valueText(field, known.defaults[at]);
    const shown = field.brief && known.reads.includes(field.name);
    const brief = shown ? (BRIEF[field.kind] || String)(value) : "";
    return { ...field, words: brief && field.brief.replace("{}", brief) };
  });
  const replaced = rows.filter((row) => row.words).map((row) => row.instead);
  const parts = rows.filter((row) => row.words && !replaced.includes(row.name));
  return parts.map((row) => row.words).join(" · ");
}
