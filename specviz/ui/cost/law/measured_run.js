// A measured run compared with the formula: the last run on Step, or a lane sent from Compare.

import { openTab } from "../../shared/tabs.js";
import { Drawing, h } from "../../shared/view.js";
import { runs } from "../shared/runs.js";

/** @import { NamedPoint } from "../../shared/section.js" */
/** @import { Which } from "../shared/runs.js" */
/** @import { RunFacts } from "./answer.py" */

/** @type {[Which, string][]} */
const WHERE = [
  ["step", "Last run on Step"],
  ["compare", "Lane of Compare"],
];
const FROM = { recorded: "recorded", live: "measured on this machine" };

/** Keep a number and its × on one line. @param {string} sentence */
export const bound = (sentence) => sentence.replaceAll(" ×", "\u00a0×");

/** @param {(which: Which) => void} choose */
function Choice(choose) {
  if (!runs.step || !runs.compare) return null;
  return h(
    "span",
    { class: "sv-law-switch sv-law-runs", role: "group", "aria-label": "Which run" },
    WHERE.map(([name, title]) =>
      h(
        "button",
        {
          type: "button",
          "aria-pressed": String(runs.chosen === name),
          onClick: () => choose(name),
        },
        title,
      ),
    ),
  );
}

/** @param {NamedPoint} run @param {RunFacts} answer @param {() => void} take */
const Point = (run, { measured, law, why, rows }, take) =>
  h(
    "div",
    { class: "sv-law-point" },
    h(
      "p",
      { class: "sv-law-name" },
      Drawing("0 0 12 12", [["M6 .6 11.4 6 6 11.4.6 6z", "sv-fill"]], "sv-mark"),
      h("b", null, bound(`measured: ${run.name || "a run"}, ${measured}`)),
      h("span", { class: "sv-law-from" }, FROM[run.source] || FROM.live),
    ),
    h(
      "p",
      null,
      h(
        "span",
        { class: "sv-law-gap" },
        bound(
          `For this run’s own values, not those of the sliders, the formula predicts ${law}; the run measured ${measured}.`,
        ),
      ),
      " ",
      h("span", { class: "sv-law-simulated" }, "formula: simulated"),
    ),
    h("p", { class: "sv-law-why" }, bound(why)),
    h(
      "dl",
      { class: "sv-law-facts" },
      rows.map(([term, value, about]) =>
        h(
          "div",
          { key: term },
          h("dt", null, term),
          h("dd", null, h("b", null, value), " ", about),
        ),
      ),
    ),
    h(
      "button",
      { type: "button", class: "sv-law-button", onClick: take },
      "Use the run’s α, γ, c and v",
    ),
  );

/**
 * @param {NamedPoint | null | undefined} run
 * @param {RunFacts | null} answer
 * @param {(which: Which) => void} choose
 * @param {() => void} take
 */
export const MeasuredRun = (run, answer, choose, take) =>
  h(
    "section",
    { class: "sv-law-run", "aria-label": "Measured run and formula" },
    h("div", { class: "sv-law-head" }, h("b", null, "Measured run and formula"), Choice(choose)),
    run && answer
      ? Point(run, answer, take)
      : h(
          "p",
          { class: "sv-law-none" },
          "No run has been measured yet. ",
          h(
            "button",
            { type: "button", class: "sv-law-link", onClick: () => openTab("Step") },
            "Run one on Step",
          ),
        ),
  );
