// The sources of the section's presets, each with the letter of how it was read.

import { h } from "../../shared/view.js";

/** @import { Config, Sourced, SourceRow } from "./__init__.py" */

/**
 * A source: a link if it is on the web, or the path of a file of this app.
 * @param {SourceRow} source
 * @param {Record<string, string>} meanings The meaning of each letter.
 */
export const SourceLink = ([title, href, letter], meanings) =>
  h(
    "span",
    null,
    href.startsWith("https://")
      ? h("a", { href, target: "_blank", rel: "noopener" }, title)
      : `${title} (${href})`,
    " ",
    h("b", { class: "sv-roofline-letter", title: meanings[letter] }, letter),
  );

/** @param {Sourced} preset @param {Record<string, string>} meanings */
const Preset = ({ title, sources, sheet, note }, meanings) =>
  h(
    "div",
    null,
    h("h4", null, title),
    h(
      "ul",
      null,
      sources.map((source) =>
        h("li", null, SourceLink(source, meanings), source[3] && ": " + source[3]),
      ),
      sheet &&
        h("li", null, "vendor’s data sheet, as cited by these sources (not read itself): " + sheet),
    ),
    note && h("p", null, note),
  );

/** @param {Config} config */
export const Sources = ({ evidence, machines, models, efficiencies }) => [
  h(
    "dl",
    { class: "sv-roofline-evidence" },
    Object.entries(evidence).map(([letter, meaning]) =>
      h("div", null, h("dt", { class: "sv-roofline-letter" }, letter), h("dd", null, meaning)),
    ),
  ),
  h(
    "div",
    { class: "sv-roofline-list" },
    [efficiencies, machines, models].flatMap((kind) =>
      Object.values(kind).map((preset) => Preset(preset, evidence)),
    ),
  ),
];
