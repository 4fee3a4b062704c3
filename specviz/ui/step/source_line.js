// The line that says which run is on screen, on which machine and with which settings; and how its
// drafter drafts.

import { h, render, termAttributes } from "../shared/view.js";
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
