// A measured run compared with the formula: the last run on Step, or a lane sent from Compare.

import { openTab } from "../../shared/tabs";
import { Drawing } from "../../shared/view";
import { runs } from "../shared/runs";

import type { NamedPoint } from "../../shared/section";
import type { Which } from "../shared/runs";
import type { RunFacts } from "./answer.py";

const WHERE: [Which, string][] = [
  ["step", "Last run on Step"],
  ["compare", "Lane of Compare"],
];
const FROM = { recorded: "recorded", live: "measured on this machine" };

/** Keep a number and its × on one line. */
export const bound = (sentence: string) => sentence.replaceAll(" ×", "\u00a0×");

function Choice(choose: (which: Which) => void) {
  if (!runs.step || !runs.compare) return null;
  return (
    <span class="sv-law-switch sv-law-runs" role="group" aria-label="Which run">
      {WHERE.map(([name, title]) => (
        <button type="button" aria-pressed={runs.chosen === name} onClick={() => choose(name)}>
          {title}
        </button>
      ))}
    </span>
  );
}

const Point = (run: NamedPoint, { measured, law, why, rows }: RunFacts, take: () => void) => (
  <div class="sv-law-point">
    <p class="sv-law-name">
      {Drawing("0 0 12 12", [["M6 .6 11.4 6 6 11.4.6 6z", "sv-fill"]], "sv-mark")}
      <b>{bound(`measured: ${run.name || "a run"}, ${measured}`)}</b>
      <span class="sv-law-from">{FROM[run.source] || FROM.live}</span>
    </p>
    <p>
      <span class="sv-law-gap">
        {bound(
          `For this run’s own values, not those of the sliders, the formula predicts ${law}; the run measured ${measured}.`,
        )}
      </span>{" "}
      <span class="sv-law-simulated">formula: simulated</span>
    </p>
    <p class="sv-law-why">{bound(why)}</p>
    <dl class="sv-law-facts">
      {rows.map(([term, value, about]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd>
            <b>{value}</b> {about}
          </dd>
        </div>
      ))}
    </dl>
    <button type="button" class="sv-law-button" onClick={take}>
      Use the run’s α, γ, c and v
    </button>
  </div>
);

export const MeasuredRun = (
  run: NamedPoint | null | undefined,
  answer: RunFacts | null,
  choose: (which: Which) => void,
  take: () => void,
) => (
  <section class="sv-law-run" aria-label="Measured run and formula">
    <div class="sv-law-head">
      <b>Measured run and formula</b>
      {Choice(choose)}
    </div>
    {run && answer ? (
      Point(run, answer, take)
    ) : (
      <p class="sv-law-none">
        {"No run has been measured yet. "}
        <button type="button" class="sv-law-link" onClick={() => openTab("Step")}>
          Run one on Step
        </button>
      </p>
    )}
  </section>
);
