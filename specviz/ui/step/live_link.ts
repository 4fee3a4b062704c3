// A link to a live run: its prompt and settings, which fill in the form. A link never starts a run.

import { stage } from "./stage";

import type { RunLine } from "./lines.py";
export type Linked = Pick<RunLine, "prompt" | "names" | "settings">;

const ADDRESS_CHARACTERS = 6000; // maximum characters, since some programs cut longer addresses

/** Return the value of ?run=, or why this run has none. */
export function liveLink(run: RunLine): { text: string; problem: string } {
  const problem = obstacle(run);
  if (problem) return { text: "", problem };
  const { defaults } = stage.config;
  const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
  const settings = Object.entries(run.settings).filter(
    ([name, value]) => !same(value, defaults[name]),
  );
  const [target, drafter] = run.names;
  const link = { prompt: run.prompt, target, drafter, settings: Object.fromEntries(settings) };
  const text = JSON.stringify(link);
  return text.length > ADDRESS_CHARACTERS
    ? { text: "", problem: "Too long for a link" }
    : { text, problem: "" };
}

function obstacle({ request, names, settings }: RunLine) {
  const { targets, drafters } = stage.config;
  if (typeof request !== "string") return "No link to a conversation";
  if (Object.keys(settings.coins || {}).length) return "No link to a run with coins set by hand";
  const known = targets.includes(names[0]) && drafters.includes(names[1]);
  return known ? "" : "No link to a run of your own models";
}

/** Return the content of a link; null if it cannot be read. Settings of a wrong type are ignored. */
export function readLink(text: string): Linked | null {
  try {
    const { prompt, target, drafter, settings } = JSON.parse(text);
    const { defaults, targets, drafters } = stage.config;
    const known = targets.includes(target) && drafters.includes(drafter);
    if (typeof prompt !== "string" || !known) return null;
    return { prompt, names: [target, drafter], settings: alike(settings, defaults) };
  } catch {
    return null;
  }
}

const kindOf = (value: unknown) => (Array.isArray(value) ? "list" : typeof value);

/** Return the settings of a run from outside that have the right type. */
export function readSettings(given: Record<string, unknown>): Record<string, unknown> {
  const coins = Object.entries(Object(given.coins)).filter(([, u]) => typeof u === "number");
  return { ...alike(given, stage.config.defaults), coins: Object.fromEntries(coins) };
}

/** Return the values that have the same type as the default ones. */
function alike<Values extends Record<string, unknown>>(given: unknown, defaults: Values): Values {
  const values = Object(given) as Record<string, unknown>;
  const all = Object.entries(defaults).map(([name, value]) => {
    const other = values[name];
    if (kindOf(other) !== kindOf(value)) return [name, value];
    const nested = kindOf(value) === "object";
    return [name, nested ? alike(other, value as Values) : other];
  });
  return Object.fromEntries(all);
}
