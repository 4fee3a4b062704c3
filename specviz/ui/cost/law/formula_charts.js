// The formula's charts: speed-up by draft length, time and arithmetic, and a map.

import { Drawing, h } from "../../shared/view.js";
import { Plot } from "../shared/figure.js";

/** @import { Stroke } from "../../../figures/marks.py" */
/** @import { Figure } from "../../shared/plotly.js" */
/** @import { Formula } from "./answer.py" */
/** @import { State } from "./__init__.py" */

/** @typedef {State["map"]} MapName */
/** @typedef {"chosen" | "best" | "run" | "law" | "ridge"} Key What the legends name. */

/** @type {[name: MapName, title: string, shows: string, click: string][]} */
const MAPS = [
  [
    "gamma",
    "α and γ",
    "Lines of equal speed-up at this c. Unshaded: slower than plain decoding.",
    " Click to set α and γ.",
  ],
  [
    "c",
    "α and c",
    "Speed-up at the best γ for each α and c. Unshaded: no draft length pays.",
    " Click to set α and c.",
  ],
];
/** @type {Record<"speed" | MapName, Key[]>} */
const KEYS = {
  speed: ["chosen", "best", "run", "law"],
  gamma: ["chosen", "ridge", "run"],
  c: ["chosen", "run"],
};
const CIRCLE = "M2 6a4 4 0 1 0 8 0a4 4 0 1 0-8 0";
/** @type {Record<Key, [title: string, ...stroke: Stroke]>} */
const MARKS = {
  chosen: ["your sliders", CIRCLE, "sv-fill"],
  best: ["the best γ", CIRCLE, "sv-line"],
  run: ["measured", "M6 .6 11.4 6 6 11.4.6 6z", "sv-fill"],
  law: ["formula at that run's values", "M6 1.6 10.4 6 6 10.4 1.6 6z", "sv-line"],
  ridge: ["the best γ for each α", "M1 6h1.5M5 6h1.5M9 6h1.5", "sv-line"],
};

/** @param {Formula} answer @param {"speed" | "map"} figure @param {Key[]} keys */
function Keys(answer, figure, keys) {
  const ridge = answer.map.data["30-best"];
  /** @type {Partial<Record<Key, boolean>>} */
  const drawn = {
    best: "40-best" in answer.speed.data,
    ridge: Boolean(ridge && ridge.x.length > 1),
    run: Boolean(answer.run),
    law: Boolean(answer.run),
  };
  const shown = keys.filter((key) => drawn[key] !== false);
  return h(
    "ul",
    { class: "sv-law-keys", "data-keys": figure, "aria-label": "Marks" },
    shown.map((key) => {
      const [title, ...stroke] = MARKS[key];
      return h("li", { key }, Drawing("0 0 12 12", [stroke], "sv-mark"), title);
    }),
  );
}

/**
 * @param {string} title
 * @param {import("preact").ComponentChild} about
 * @param {string} name
 * @param {Figure} figure
 * @param {{ "aria-label": string, onClick?: (event: MouseEvent) => void }} attributes
 * @param {import("preact").ComponentChild} [keys]
 * @param {import("preact").ComponentChild} [choice]
 */
const Chart = (title, about, name, figure, attributes, keys, choice) =>
  h(
    "figure",
    { class: "sv-law-figure" },
    h("figcaption", null, h("b", null, title), h("span", null, about)),
    choice,
    h("div", { class: "sv-law-hold" }, Plot("sv-plot sv-law-" + name, figure, attributes)),
    keys,
  );

/**
 * @param {Formula} answer
 * @param {MapName} map The map that is shown.
 * @param {(map: MapName) => void} choose
 * @param {(event: MouseEvent) => void} onClick Called when a point of the map is clicked.
 */
export function FormulaCharts(answer, map, choose, onClick) {
  const { work, speedup } = answer.round.numbers;
  const [, , shows, click] = MAPS.find(([name]) => name === map) ?? MAPS[0];
  const choice = h(
    "div",
    { class: "sv-law-switch", role: "group", "aria-label": "What the map shows" },
    MAPS.map(([name, title]) =>
      h(
        "button",
        {
          type: "button",
          "data-map": name,
          "aria-pressed": String(name === map),
          onClick: () => choose(name),
        },
        title,
      ),
    ),
  );
  return [
    Chart(
      "Speed-up by draft length",
      "A short draft leaves speed unused; a long one spends time on tokens that are rejected.",
      "speed",
      answer.speed,
      { "aria-label": answer.best + " " + answer.chosen },
      Keys(answer, "speed", KEYS.speed),
    ),
    Chart(
      "Time falls while arithmetic rises",
      "Per token, relative to plain decoding. Rejected tokens were computed too.",
      "time",
      answer.time,
      { "aria-label": `Per token: arithmetic ${work}, speed-up ${speedup}.` },
    ),
    Chart(
      "Speed-up over α and γ, or α and c",
      h("span", { class: "sv-law-mapped" }, shows + click),
      "map",
      answer.map,
      { "aria-label": shows, onClick },
      Keys(answer, "map", KEYS[map]),
      choice,
    ),
  ];
}
