// The formula's charts: speed-up by draft length, time and arithmetic, and a map.

import { Drawing } from "../../shared/view";
import { Plot } from "../shared/figure";

import type { Stroke } from "../../../figures/marks.py";
import type { Figure } from "../../shared/plotly";
import type { Formula } from "./answer.py";
import type { State } from "./__init__.py";

export type MapName = State["map"];
/** What the legends name. */
export type Key = "chosen" | "best" | "run" | "law" | "ridge";

const MAPS: [name: MapName, title: string, shows: string, click: string][] = [
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
const KEYS: Record<"speed" | MapName, Key[]> = {
  speed: ["chosen", "best", "run", "law"],
  gamma: ["chosen", "ridge", "run"],
  c: ["chosen", "run"],
};
const CIRCLE = "M2 6a4 4 0 1 0 8 0a4 4 0 1 0-8 0";
const MARKS: Record<Key, [title: string, ...stroke: Stroke]> = {
  chosen: ["your sliders", CIRCLE, "sv-fill"],
  best: ["the best γ", CIRCLE, "sv-line"],
  run: ["measured", "M6 .6 11.4 6 6 11.4.6 6z", "sv-fill"],
  law: ["formula at that run's values", "M6 1.6 10.4 6 6 10.4 1.6 6z", "sv-line"],
  ridge: ["the best γ for each α", "M1 6h1.5M5 6h1.5M9 6h1.5", "sv-line"],
};

function Keys(answer: Formula, figure: "speed" | "map", keys: Key[]) {
  const ridge = answer.map.data["30-best"];
  const drawn: Partial<Record<Key, boolean>> = {
    best: "40-best" in answer.speed.data,
    ridge: Boolean(ridge && ridge.x.length > 1),
    run: Boolean(answer.run),
    law: Boolean(answer.run),
  };
  const shown = keys.filter((key) => drawn[key] !== false);
  return (
    <ul class="sv-law-keys" data-keys={figure} aria-label="Marks">
      {shown.map((key) => {
        const [title, ...stroke] = MARKS[key];
        return (
          <li key={key}>
            {Drawing("0 0 12 12", [stroke], "sv-mark")}
            {title}
          </li>
        );
      })}
    </ul>
  );
}

const Chart = (
  title: string,
  about: import("preact").ComponentChild,
  name: string,
  figure: Figure,
  attributes: { "aria-label": string; onClick?: (event: MouseEvent) => void },
  keys?: import("preact").ComponentChild,
  choice?: import("preact").ComponentChild,
) => (
  <figure class="sv-law-figure">
    <figcaption>
      <b>{title}</b>
      <span>{about}</span>
    </figcaption>
    {choice}
    <div class="sv-law-hold">{Plot("sv-plot sv-law-" + name, figure, attributes)}</div>
    {keys}
  </figure>
);

/**
 * @param map The map that is shown.
 * @param onClick Called when a point of the map is clicked.
 */
export function FormulaCharts(
  answer: Formula,
  map: MapName,
  choose: (map: MapName) => void,
  onClick: (event: MouseEvent) => void,
) {
  const { work, speedup } = answer.round.numbers;
  const [, , shows, click] = MAPS.find(([name]) => name === map) ?? MAPS[0];
  const choice = (
    <div class="sv-law-switch" role="group" aria-label="What the map shows">
      {MAPS.map(([name, title]) => (
        <button
          type="button"
          data-map={name}
          aria-pressed={name === map}
          onClick={() => choose(name)}
        >
          {title}
        </button>
      ))}
    </div>
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
      <span class="sv-law-mapped">{shows + click}</span>,
      "map",
      answer.map,
      { "aria-label": shows, onClick },
      Keys(answer, "map", KEYS[map]),
      choice,
    ),
  ];
}
