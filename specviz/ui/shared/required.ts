// Assert that a value is present.

/** Return the value; throw an error if it is missing. */
export function required<Value>(value: Value | null | undefined): Value {
  if (value === null || value === undefined) throw new Error("something is not there yet");
  return value;
}
