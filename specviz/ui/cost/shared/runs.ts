// Measured runs on this tab: the last one on Step, and a lane sent from Compare.

import type { NamedPoint } from "../../shared/section";
import type { Origin } from "./terms";

export type Which = "step" | "compare";

export const runs: Record<Which, NamedPoint | null> & { chosen: Which } = {
  step: null,
  compare: null,
  chosen: "step",
};

// Return α and γ of a run, with three decimals.
export const pairOf = ({ alpha, gamma }: NamedPoint) => ({
  alpha: Number(alpha.toFixed(3)),
  gamma: Number(gamma.toFixed(3)),
});

export function originOf(run: NamedPoint, which: Which): Origin {
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
