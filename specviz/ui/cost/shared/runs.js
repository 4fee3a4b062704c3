// Measured runs on this tab: the last one on Step, and a lane sent from Compare.

/** @import { NamedPoint } from "../../shared/section.js" */
/** @import { Origin } from "./terms.js" */

/** @typedef {"step" | "compare"} Which */

/** @type {Record<Which, NamedPoint | null> & { chosen: Which }} */
export const runs = { step: null, compare: null, chosen: "step" };

// Return α and γ of a run, with three decimals.
/** @param {NamedPoint} run */
export const pairOf = ({ alpha, gamma }) => ({
  alpha: Number(alpha.toFixed(3)),
  gamma: Number(gamma.toFixed(3)),
});

/** @param {NamedPoint} run @param {Which} which @returns {Origin} */
export function originOf(run, which) {
  const on = run.where ? run.where.split(" · ")[0] : "";
  const live = run.source === "live" ? "on this machine" : "";
  const recorded = run.run ? "recorded run " + run.run : "recorded";
  const place = which === "compare" ? "a lane of Compare, " : "";
  return {
    kind: "run",
    key: which,
    on,
    guesses: run.guesses,
    said: `measured: ${run.name || "a run"}${on && " on " + on}, ${place}${live || recorded}`,
  };
}
