// Measured runs: the last one on Step, and a lane sent from Compare.

import { drawing, el } from "../../shared/dom.js";
import { originOf, pairOf, runs } from "../shared/runs.js";
import { setTerms } from "../shared/terms.js";
import { ask } from "./ask.js";
import { bound } from "./say.js";
import { $ } from "./stage.js";
import { chosen, NUMBERS, state } from "./state.js";

/** @import { NamedPoint } from "../../shared/data.js" */
/** @import { RunTold } from "./data.js" */

/** @type {["step" | "compare", string][]} */
const WHERE = [
  ["step", "Last run on Step"],
  ["compare", "Lane of Compare"],
];
const FROM = { recorded: "recorded", live: "measured on this machine" };

export function fromStep() {
  runs.step = window.specviz?.measured || null;
  if (runs.step || !runs.compare) runs.chosen = "step";
  ask();
}

/** @param {NamedPoint} point */
export function fromCompare(point) {
  if (!point || !NUMBERS.every((name) => Number.isFinite(point[name]))) return;
  runs.compare = point;
  runs.chosen = "compare";
  take();
}

// Set the sliders to the run's values, so that the curve is the formula for this run. α and γ apply
// to the whole tab.
export function take() {
  const point = chosen();
  if (!point) return;
  state.c = Number(point.c.toFixed(3));
  state.verify = Number(point.verify.toFixed(3));
  setTerms(pairOf(point), originOf(point, runs.chosen));
}

function showSwitch() {
  const both = runs.step && runs.compare;
  $(".sv-law-runs").hidden = !both;
  $(".sv-law-runs").replaceChildren(
    ...(both ? WHERE : []).map(([name, title]) => {
      const button = el("button", "", title);
      button.type = "button";
      button.setAttribute("aria-pressed", String(runs.chosen === name));
      button.addEventListener("click", () => {
        runs.chosen = name;
        ask();
      });
      return button;
    }),
  );
}

const DIAMOND = () => drawing("0 0 12 12", [["M6 .6 11.4 6 6 11.4.6 6z", "sv-fill"]], "sv-mark");

// Show the run's numbers beside the formula's. answer: the server's sentences and numbers.
/** @param {RunTold | null} answer */
export function showRun(answer) {
  const point = chosen();
  $(".sv-law-none").hidden = Boolean(point && answer);
  $(".sv-law-point").hidden = !(point && answer);
  showSwitch();
  if (!point || !answer) return;
  const name = String(point.name || "a run");
  const from = el("span", "sv-law-from", FROM[point.source] || "measured on this machine");
  $(".sv-law-name").replaceChildren(
    DIAMOND(),
    el("b", "", `measured: ${name}, ${bound(answer.measured)}`),
    from,
  );
  $(".sv-law-gap").textContent = bound(
    `The formula predicts ${answer.law}; the run measured ${answer.measured}.`,
  );
  $(".sv-law-why").textContent = bound(answer.why);
  $(".sv-law-facts").replaceChildren(
    ...answer.rows.map(([term, value, said]) =>
      el("div", "", el("dt", "", term), el("dd", "", el("b", "", value), " ", said)),
    ),
  );
}
