// The line that says which run is on screen, on which machine and with which settings; and how its
// drafter drafts. The same facts for saved pictures and films.

import { there } from "../shared/there.js";
import { h, render, termAttributes } from "../shared/view.js";
import { now } from "./cursor.js";
import { reel, stepName, stepsOf } from "./reel.js";
import { $ } from "./stage.js";

/** @import { RunLine } from "./lines.py" */

/** @param {RunLine} run */
export function showSource(run) {
  render(SourceLine(run), $(".sv-source"));
  const drafter = run.how ? [h("b", null, run.drafter + "."), " " + run.how] : null;
  render(drafter, $(".sv-drafts"));
  $(".sv").dataset.source = run.source;
  document.body.classList.toggle("sv-is-lossy", !run.lossless);
  document.body.classList.toggle("sv-shows-live", run.source === "live");
}

// Settings that have a glossary entry are shown as terms.
/** @param {RunLine} run */
function SourceLine({ source, lossless, drafter, on, names, where, summary: settings }) {
  const words = [drafter + " drafts for " + on, where, ...settings.map(([, each]) => each)];
  return [
    h("span", { class: "sv-badge", ...termAttributes(source) }, source),
    About(source, words),
    h("span", { class: "sv-lossy" }, lossless ? null : "not lossless"),
    h(
      "span",
      { class: "sv-where", title: words.join(" · ") },
      drafter + " drafts for ",
      h("span", termAttributes(names[0]), on),
      " · " + where,
      settings.map(([name, words]) => [" · ", h("span", termAttributes(name), words)]),
    ),
  ];
}

// In the Simple mode, machine and settings are in the card of the badge.
/** @param {RunLine["source"]} source @param {string[]} facts */
const About = (source, facts) =>
  h(
    "details",
    { class: "sv-about" },
    h("summary", null, source === "recorded" ? "A real run, recorded" : "A real run, live"),
    h(
      "ul",
      null,
      facts.map((fact) => h("li", { key: fact }, fact)),
    ),
  );

/** What a film and a picture say of the run. */
export function provenance() {
  const { source, drafter, on, where } = there(reel.run);
  return [source, drafter + " drafts for " + on, where];
}

/** A round in the name of a file. @param {number} round */
export function fileOf(round) {
  const { source, id } = there(reel.run);
  return (source === "recorded" ? id : "live-run") + "-round-" + reel.rounds[round].number;
}

/** @param {number} round @param {number} step */
export const stepInRound = (round, step) =>
  `Round ${reel.rounds[round].number}, step ${step + 1} of ${stepsOf(round)}`;

/** What is on screen, for a picture. */
export function aboutMoment() {
  if (!reel.rounds.length) return { file: "", facts: [] };
  const { round, step } = now.at;
  const what = now.whatIf ? "what if, not what happened" : now.question && "before the verdict";
  return {
    file: fileOf(round) + "-" + stepName(round, step).id,
    facts: [stepInRound(round, step), what, ...provenance()],
  };
}
