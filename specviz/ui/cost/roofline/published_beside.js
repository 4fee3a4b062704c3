// The prediction next to the closest published result, with a link to its row.

import { h } from "../../shared/view.js";

/** @import { Beside, Report } from "./answer.py" */

/** @param {string} name @param {string} number */
const Big = (name, number) => h("b", { class: "sv-roofline-big sv-roofline-" + name }, number);

/** @param {Report} report */
const Published = ({ number, about, notes, place }) =>
  h(
    "div",
    { class: "sv-roofline-report" },
    h(
      "p",
      null,
      "Closest published result ",
      Big("reported", number),
      " ",
      h("span", { class: "sv-headline-badge" }, "published"),
    ),
    h(
      "p",
      null,
      h("span", { class: "sv-roofline-about" }, about),
      " ",
      notes,
      " ",
      h(
        "a",
        {
          href: "#sv-" + place,
          /** @param {MouseEvent} event */
          onClick: (event) => {
            event.preventDefault();
            window.dispatchEvent(new CustomEvent("sv-report", { detail: place }));
          },
        },
        "See its row",
      ),
    ),
  );

/** @param {Beside} beside */
export const PredictedAndPublished = ({ called, speedup, best, report }) => [
  h(
    "div",
    null,
    h(
      "p",
      null,
      h("span", { class: "sv-roofline-called" }, called),
      " ",
      Big("bound", speedup),
      " ",
      h("span", { class: "sv-roofline-mark" }, "simulated"),
    ),
    h("p", { class: "sv-roofline-best" }, best),
  ),
  report
    ? Published(report)
    : h(
        "div",
        { class: "sv-roofline-unreported" },
        h("p", null, "There is no published measurement of this target."),
      ),
];
