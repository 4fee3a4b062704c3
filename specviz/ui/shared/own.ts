// Look names up that come from outside: from an address, a form, a file or a message. A plain object
// also has the names of its prototype, such as "constructor".

/** Return the value that a table has for a name; undefined if it has none of its own. */
export const own = <Value>(
  table: Readonly<Record<string, Value>>,
  name: string | null | undefined,
): Value | undefined =>
  typeof name === "string" && Object.hasOwn(table, name) ? table[name] : undefined;
