// Assert that a value is present.

/**
 * Return the value; throw an error if it is missing.
 * @template Value
 * @param {Value | null | undefined} value
 * @returns {Value}
 */
export function there(value) {
  if (value === null || value === undefined) throw new Error("something is not there yet");
  return value;
}
