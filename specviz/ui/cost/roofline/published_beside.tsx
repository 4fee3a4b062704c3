// The prediction next to the closest published result, with a link to its row.

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
        href={"#sv-" + place}
        onClick={(event: MouseEvent) => {
          event.preventDefault();
          window.dispatchEvent(new CustomEvent("sv-report", { detail: place }));
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
