// The prediction next to the closest published result, with a link to its row.

import { byId } from "../../shared/dom";
import { hand } from "../../shared/tabs";
import { there } from "../../shared/there";

import type { Beside, Report } from "./answer.py";

const Big = (name: string, number: string) => (
  <b class={"sv-roofline-big sv-roofline-" + name}>{number}</b>
);

const Published = ({ number, about, notes, place }: Report) => (
  <div class="sv-roofline-report">
    <p>
      {"Closest published result "}
      {Big("reported", number)} <span class="sv-headline-badge">published</span>
    </p>
    <p>
      <span class="sv-roofline-about">{about}</span> {notes}{" "}
      <a
        href={"?" + new URLSearchParams({ tab: "cost", ...place })}
        onClick={(event: MouseEvent) => {
          event.preventDefault();
          hand("published", place);
          there(byId("sv-part-published")).scrollIntoView();
        }}
      >
        See its row
      </a>
    </p>
  </div>
);

export const PredictedAndPublished = ({ called, speedup, best, report }: Beside) => [
  <div>
    <p>
      <span class="sv-roofline-called">{called}</span> {Big("bound", speedup)}{" "}
      <span class="sv-roofline-mark">simulated</span>
    </p>
    <p class="sv-roofline-best">{best}</p>
  </div>,
  report ? (
    Published(report)
  ) : (
    <div class="sv-roofline-unreported">
      <p>There is no published measurement of this target.</p>
    </div>
  ),
];
