// The values of sliders and boxes, and the measured run beside them.

import { runs } from "../shared/runs.js";

/** @import { Asked, State } from "./data.js" */

/** @type {State} */
export const state = {
  alpha: null,
  gamma: null,
  c: null,
  verify: null,
  c_hat: null,
  map: "gamma",
  widths: "",
  places: "",
}; // set when the section starts

/** @type {(keyof Asked)[]} */
export const NUMBERS = ["alpha", "gamma", "guesses", "c", "verify", "tokens", "speedup"];

export const chosen = () => runs[runs.chosen];

// The chosen run's numbers, for the question; its name stays in the browser.
export function run() {
  const point = chosen();
  return point && Object.fromEntries(NUMBERS.map((name) => [name, point[name]]));
}
