// Remove unused lines from a pasted text: these are most of it, and may contain an API key.

const JSON_BEGINS = /^\s*(\{|\[\s*[{[\]])/; // a log may begin with a bracket, too
const UNREAD = /^(#|[\w:]+_(bucket|created)[{ ])/;

/**
 * Shorten the first two of an event's values, which are texts.
 * @param names The keys that are read from JSON.
 */
export const shortened = (values: unknown[], names: string[], longest: number) =>
  values.map((value, at) => (at < 2 ? shorter(String(value ?? ""), names, longest) : value));

function shorter(text: string, names: string[], longest: number) {
  const plain = text.replace(/^\ufeff/, ""); // the byte order mark of a saved file
  const made = JSON_BEGINS.test(plain) ? kept(plain, names) : read(plain);
  return made.slice(0, longest + 1); // one too many, so that it is refused, not truncated
}

/** Return JSON, or one line of JSON per request, without unused entries. */
function kept(text: string, names: string[]) {
  const lines = text.split("\n").filter((line) => line.trim());
  const several = lines.length > 1 && lines.every((line) => /^\{.*\}\s*$/.test(line));
  try {
    const made = (several ? lines : [text]).map((each) => JSON.stringify(JSON.parse(each), names));
    return made.join("\n");
  } catch {
    return "{"; // invalid JSON, which the answer reports
  }
}

function read(text: string) {
  const lines = text.split("\n");
  return lines.filter((line) => !UNREAD.test(line)).join("\n");
}
