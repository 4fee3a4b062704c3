// What the law is asked about: what the sliders and boxes say, and the measured run beside it.

export const state = {};

export const runs = { step: null, compare: null, chosen: "step" };
export const NUMBERS = ["alpha", "gamma", "guesses", "c", "verify", "tokens", "speedup"];

export const chosen = () => runs[runs.chosen];

// The chosen run's numbers, for the question; its name never leaves the page.
export function run() {
  const point = chosen();
  return point && Object.fromEntries(NUMBERS.map((name) => [name, point[name]]));
}
