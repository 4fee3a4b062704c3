// Probabilities as percentages, for the Simple mode. Those that are shown together add up.

/** text: its percentage, if it is already known. */
export type Share = { value: number; text?: string };

const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const NEGLIGIBLE = 0.001;

/** Return the number that Python has formatted, such as 1.2×10⁻⁵. */
function parsed(text: string) {
  const [mantissa, power] = text.replace("−", "-").split("×10");
  if (power === undefined) return Number(mantissa);
  const digits = [...power].map((each) => (each === "⁻" ? "-" : RAISED.indexOf(each)));
  return Number(mantissa + "e" + digits.join(""));
}

/** Convert a formatted probability to a percentage with the same digits, as `percent` does in Python. */
export function percentOf(text: string) {
  const value = parsed(text);
  // Only an exact 0 or 1 has no decimals.
  if (value < NEGLIGIBLE && text !== "0") return "almost 0 %";
  if (value === 1 && text !== "1") return "almost 100 %";
  const digits = Math.max((text.split(".")[1] ?? "").length - 2, 0);
  return (100 * value).toFixed(digits) + " %";
}

/** Convert a computed probability to a whole percentage. */
export function percentOfNumber(value: number) {
  const exact = Number(value.toFixed(9)); // without the errors of sums
  return percentOf(exact === 0 || exact === 1 ? String(exact) : exact.toFixed(2));
}

/**
 * Return whole percentages that add up to `total`, by the method of the largest remainder. A share
 * that has a text keeps it; the others share what is left.
 */
export function apportioned(shares: Share[], total: number = 100): string[] {
  const known = shares.reduce(
    (sum, { text }) => sum + (text ? Number.parseFloat(text.replace("almost ", "")) : 0),
    0,
  );
  const free = shares.filter(({ text }) => !text);
  const floors = free.map(({ value }) => Math.floor(100 * value));
  const left = Math.round(total - known) - floors.reduce((a, b) => a + b, 0);
  const order = free
    .map(({ value }, index) => ({ index, rest: 100 * value - floors[index] }))
    .sort((a, b) => b.rest - a.rest);
  for (const { index } of order.slice(0, Math.max(0, left))) floors[index] += 1;
  let next = 0;
  return shares.map(({ text, value }) => text ?? wholePercent(floors[next++], value));
}

/** Return probabilities as whole percentages that add up to 100. */
export const wholePercents = (values: number[]) => apportioned(values.map((value) => ({ value })));

const wholePercent = (whole: number, value: number) =>
  whole || value === 0 ? whole + " %" : "< 1 %";
