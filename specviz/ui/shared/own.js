// Look names up that come from outside: from an address, a form, a file or a message. A plain object
// also has the names of its prototype, such as "constructor".

/**
 * Return the value that a table has for a name; undefined if it has none of its own.
 * @template Value
 * @param {Readonly<Record<string, Value>>} table
 * @param {string | null | undefined} name
 * @returns {Value | undefined}
 */
export const own = (table, name) =>
  typeof name === "string" && Object.hasOwn(table, name) ? table[name] : undefined;
