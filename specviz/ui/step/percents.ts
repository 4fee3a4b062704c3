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

/**
 * Return whole percentages that add up to `total`, by the method of the largest remainder. A share
 * that has a text keeps it; the others share what is left.
 */
export function apportioned(shares: Share[], total: number = 100): string[] {
  const known = shares.reduce(
    (sum, { text }) => sum + (text?.startsWith("<") ? 0 : Number(text?.match(/[\d.]+/)?.[0] ?? 0)),
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

/** Return a probability as a whole percentage, or with decimals if it would look certain. */
export function percentText(computed: number) {
  const value = Number(computed.toFixed(9)); // without the errors of sums
  if (value > 0 && value < NEGLIGIBLE) return "almost 0 %";
  if (value < 1 && value > 1 - NEGLIGIBLE) return "almost 100 %";
  const whole = (100 * value).toFixed(0);
  const certain = whole === "0" || whole === "100";
  return (certain && value % 1 ? (100 * value).toFixed(1) : whole) + " %";
}

/** Return p, q and min(1, p ÷ q) as percentages, with which the division that is shown is right. */
export function dividing(p: number, q: number): [p: string, q: string, chance: string] {
  const chance = percentText(q > 0 ? Math.min(1, p / q) : 1);
  for (let digits = 0; digits < 4; digits += 1) {
    const [one, other] = [p, q].map((each) => (100 * each).toFixed(digits));
    const ratio = Number(other) > 0 ? Math.min(1, Number(one) / Number(other)) : 1;
    const seen = Number(one) > 0 === p > 0 && Number(other) > 0 === q > 0;
    if (seen && percentText(ratio) === chance) return [one + " %", other + " %", chance];
  }
  return [percentText(p), percentText(q), chance];
}

const wholePercent = (whole: number, value: number) =>
  whole || value === 0 ? whole + " %" : "< 1 %";
