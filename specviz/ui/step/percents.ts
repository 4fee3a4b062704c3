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

/** Return how many decimals a percentage has. */
export const decimalsOf = (text: string) => /\.(\d+)/.exec(text)?.[1].length ?? 0;

/**
 * Return percentages that add up to `total`, by the method of the largest remainder. A share that has
 * a text keeps it; the others share what is left.
 */
export function apportioned(shares: Share[], total: number = 100, decimals: number = 0): string[] {
  const unit = 10 ** decimals;
  const known = shares.reduce(
    (sum, { text }) => sum + (text?.startsWith("<") ? 0 : Number(text?.match(/[\d.]+/)?.[0] ?? 0)),
    0,
  );
  const free = shares.filter(({ text }) => !text);
  const floors = free.map(({ value }) => Math.floor(100 * unit * value));
  const left = Math.round(unit * (total - known)) - floors.reduce((a, b) => a + b, 0);
  const order = free
    .map(({ value }, index) => ({ index, rest: 100 * unit * value - floors[index] }))
    .sort((a, b) => b.rest - a.rest);
  for (const { index } of order.slice(0, Math.max(0, left))) floors[index] += 1;
  let next = 0;
  return shares.map(({ text, value }) => {
    if (text) return text;
    const shown = floors[next++];
    if (!shown) return value === 0 ? "0 %" : `< ${1 / unit} %`;
    return (shown / unit).toFixed(decimals) + " %";
  });
}

/** Return a probability as a percentage, by the rule of `percentOf`; a small one has a decimal. */
export function percentText(computed: number) {
  const value = Number(computed.toFixed(9)); // without the errors of sums
  if (value === 0 || value === 1) return 100 * value + " %";
  if (value < NEGLIGIBLE) return "almost 0 %";
  const text = (100 * value).toFixed(value < 0.01 ? 1 : 0);
  return (text === "100" ? "almost 100" : text) + " %";
}

/** Return p, q and min(1, p ÷ q) as percentages, with which the division that is shown is right. */
export function dividing(p: number, q: number): [p: string, q: string, chance: string] {
  const chance = percentText(q > 0 ? Math.min(1, p / q) : 1);
  for (let digits = 0; digits < 4; digits += 1) {
    const [one, other] = [p, q].map((each) => (100 * each).toFixed(digits));
    const ratio = Number(other) > 0 ? Math.min(1, Number(one) / Number(other)) : 1;
    const seen = [p, q].every((each, at) => {
      const text = Number([one, other][at]);
      return text > 0 === each > 0 && text < 100 === each < 1;
    });
    if (seen && percentText(ratio) === chance) return [one + " %", other + " %", chance];
  }
  return [percentText(p), percentText(q), chance];
}
