// Labelled rows of horizontal bars, each with its number at its end.

import { flat, percent } from "../shared/dom";
import { classes, Token } from "../shared/view";
import { linkAttributes } from "./hover_links";

import type { ComponentChild, VNode } from "preact";
import type { Row } from "../../frames/inspector.py";

/** @param link What it shows, if elements that show the same are highlighted with it. */
export const BarRow = (label: ComponentChild, bars: ComponentChild, link?: string) => (
  <div class="sv-cr" {...(link ? linkAttributes(link) : {})}>
    <span class="sv-l">{label}</span>
    <div>{bars}</div>
  </div>
);

/** @param end Where the number is, as a share of the longest bar's length. */
export const Bar = (
  ink: string,
  end: number,
  text: string | undefined,
  ...fills: ComponentChild[]
) => (
  <div class="sv-bar">
    <b class={"sv-ink-" + ink} style={{ left: percent(end) }}>
      {text}
    </b>
    {fills}
  </div>
);

/** @param wide A share, or a width of the style sheet. */
export const Fill = (name: string, wide: number | string) => (
  <i
    class={"sv-f sv-f-" + name}
    style={{ width: typeof wide === "number" ? percent(wide) : wide }}
  />
);

type Name = "p" | "q" | "soft" | "score";

// What is drawn for each probability: name, ink of its number, fill and name for a reader.
const BARS: [Name, string, string, string][] = [
  ["p", "p", "p", "p"],
  ["q", "q", "q", "q"],
  ["soft", "soft", "soft", "p at temperature 1"],
  ["score", "q", "over", "confidence"],
];

/** The guesses, or a distribution, of which the sampled token is filled. */
export function BarList(rows: Row[], isDistribution: boolean) {
  const Row = isDistribution ? TokenBar : GuessBars;
  return (
    <div
      class={classes("sv-chart", isDistribution && "sv-chart-dense")}
      role="img"
      aria-label={rows.map(spoken).join("; ")}
    >
      {rows.map(Row)}
    </div>
  );
}

const GuessBars = (row: Row): VNode =>
  BarRow(
    [Name(row), row.after ? <small>{"after " + flat(row.after)}</small> : null],
    BARS.map(([name, ink, fill]) => {
      const value = row[name];
      return value === undefined ? null : Bar(ink, value, row.t?.[name], Fill(fill, value));
    }),
  );

const TokenBar = (row: Row): VNode => {
  const { p = 0, soft, hit } = row;
  const outline = soft === undefined ? null : Fill("soft", soft);
  return BarRow(
    Name(row),
    Bar("p", Math.max(p, soft ?? 0), row.t?.p, Fill(hit ? "p" : "pale", p), outline),
  );
};

const Name = ({ at, w, rest }: Row) =>
  w ? [at ? "+" + at + " " : "", Token(w)] : rest?.toLocaleString("en") + " others";

function spoken(row: Row) {
  const name = row.w ? (row.at ? "+" + row.at + " " : "") + flat(row.w) : Name(row);
  const after = row.after ? " after " + flat(row.after) : "";
  const numbers = BARS.flatMap(([key, , , say]) => (row.t?.[key] ? say + " " + row.t[key] : []));
  return (
    name + after + ": " + (numbers.join(", ") || "no probability") + (row.hit ? ", sampled" : "")
  );
}
