// One round at the chosen γ: the tokens that it adds, its cost, and the formulas.

import { h } from "../../shared/view.js";

/** @import { Round } from "./answer.py" */

const SOURCE =
  "The speed-up formula of Leviathan et al., arXiv 2211.17192. It assumes that every draft token is accepted with the same probability α, independently of the tokens before it.";

/** @param {string} title @param {[name: string, value: number][]} pieces @param {string} number */
const Bar = (title, pieces, number) =>
  h(
    "div",
    { class: "sv-law-bar" },
    h("span", null, title),
    pieces.map(([name, value]) =>
      h("i", { class: "sv-law-" + name, style: { "--wide": String(value) } }),
    ),
    h("b", { "data-number": title === "brings" ? "tokens" : "cost" }, number),
  );

/** @param {string} kind @param {string} title @param {string} number */
const Key = (kind, title, number) =>
  h("span", { class: "sv-law-is-" + kind }, title + " ", h("b", null, number));

/** @param {Round} round */
export function RoundBars({ tokens, draft, check, numbers }) {
  const whole = Math.max(tokens, draft + check);
  return [
    h(
      "div",
      { class: "sv-law-round" },
      h(
        "p",
        null,
        h("b", null, "One round at your γ"),
        " brings tokens and costs plain passes. Drafting pays when the upper bar is longer.",
      ),
      Bar("brings", [["brings", tokens / whole]], numbers.tokens),
      Bar(
        "costs",
        [
          ["draft", draft / whole],
          ["check", check / whole],
        ],
        numbers.cost,
      ),
      h(
        "p",
        { class: "sv-law-legend" },
        Key("draft", "drafting", numbers.draft),
        Key("check", "verification", numbers.check),
      ),
    ),
    h(
      "div",
      { class: "sv-law-formulas" },
      h("p", null, h("span", null, "tokens"), " = 1 + α + … + α", h("sup", null, "γ")),
      h(
        "p",
        null,
        h("span", null),
        " = (1 − α",
        h("sup", null, "γ+1"),
        ") / (1 − α) = ",
        h("b", null, numbers.tokens),
      ),
      h(
        "p",
        null,
        h("span", null, "speed-up"),
        " = tokens / (γ c + v) = ",
        h("b", null, numbers.speedup),
      ),
      h(
        "p",
        null,
        h("span", null, "arithmetic"),
        " = (γ ĉ + γ + 1) / tokens = ",
        h("b", null, numbers.work),
      ),
      h("p", { class: "sv-law-source" }, SOURCE),
    ),
  ];
}
