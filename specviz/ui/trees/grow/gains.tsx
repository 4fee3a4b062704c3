// What the tree gains: accepted lengths, gain and cost of each guess, and the tree in other
// formats.

import { CopyButton } from "../../shared/copy";
import { drawFigure, fetchPlotly } from "../../shared/plot";

import { $, answer, step } from "./state";

/** Accepted lengths; the result with u is shown only at the last step. */
export function AcceptedLengths() {
  const { lengths } = answer();
  const most = Math.max(1, ...lengths.map(({ value }) => value));
  return lengths.map(({ name, said, value }) => {
    const thrown = name === "thrown";
    const hidden = thrown && step().kind !== "verify";
    const number = hidden ? "?" : thrown ? String(value) : value.toFixed(2);
    const width = hidden ? "0" : (100 * value) / most + "%";
    return (
      <tr key={name}>
        <th scope="row">{said}</th>
        <td>{number}</td>
        <td>
          <i class={"sv-grow-length sv-grow-length-" + name} style={{ width }} />
        </td>
      </tr>
    );
  });
}

/** The gain and the cost of each guess; the chart is drawn when the tree is on screen. */
export async function showWorth() {
  $(".sv-grow-paid").textContent = answer().margins.said;
  const place = $(".sv-grow-figure");
  if (!place.parentElement?.clientWidth) return; // another tab is open
  place.style.minHeight = JSON.parse(answer().margins.figure).layout.height + "px"; // until then
  await fetchPlotly();
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  await drawFigure(place, JSON.parse(answer().margins.figure), place.parentElement.clientWidth);
}

const FORMATS: Record<string, string> = {
  next_token: "retrieve_next_token (SGLang): first child",
  next_sibling: "retrieve_next_sibling (SGLang)",
  retrieve_indices: "retrieve_indices (EAGLE, Medusa): one row per leaf",
  rank_paths: "--rank-paths (specviz), medusa_choices",
};

/** The tree in the formats of other programs. */
export function TreeFormats() {
  const { views, names } = answer();
  const sizes = Object.entries(names).map(([engine, numbers]) => {
    const parts = Object.entries(numbers).map(([name, value]) => `${name} ${value}`);
    return [engine, parts.join(", ")];
  });
  const arrays = Object.entries(views).map(([name, value]) => [
    FORMATS[name] || name,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  return [...sizes, ...arrays].map(([name, text]) => (
    <div key={name}>
      <dt>
        {name} <CopyButton name={name} text={text} />
      </dt>
      <dd>
        <code>{text}</code>
      </dd>
    </div>
  ));
}
