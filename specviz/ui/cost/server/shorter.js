// A pasted text without what is never read: most of it, and sometimes a key. See cost/server.

const UNREAD = /^(#|[\w:]+_(bucket|created)[{ ])/;

/**
 * @param {string} text
 * @param {string[]} names What is looked at in JSON.
 * @param {number} longest
 */
export function shorter(text, names, longest) {
  const begun = text.trimStart()[0];
  const made = begun === "{" || begun === "[" ? kept(text, names) : read(text);
  return made.slice(0, longest + 1); // one too many, so that it is refused and not cut
}

/** @param {string} text @param {string[]} names */
function kept(text, names) {
  try {
    return JSON.stringify(JSON.parse(text), names);
  } catch {
    return "{"; // no JSON, which the answer says
  }
}

/** @param {string} text */
function read(text) {
  const lines = text.split("\n");
  return lines.filter((line) => !UNREAD.test(line)).join("\n");
}
