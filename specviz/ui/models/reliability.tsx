// Reliability diagrams: how many guesses were accepted, beside what a drafter's confidence head predicted.

import { Pictures } from "../shared/picture";

import type { Reliability, Row } from "./rows.py";

const SIDE = 200; // px of the square from 0 to 1
const LEFT = 44; // px for the labels of each axis
const TOP = 10;
const BOTTOM = 40;
const LARGEST = 9; // px: radius of the interval with the most guesses
const TICKS = [0, 0.25, 0.5, 0.75, 1];

const x = (share: number) => LEFT + share * SIDE;
const y = (share: number) => TOP + (1 - share) * SIDE;
const percent = (share: number) => Math.round(100 * share) + "%";

/** A row's diagrams, one per temperature, to open and to save. */
export function ReliabilityDiagrams(row: Row) {
  let figure: HTMLElement | null = null;
  const about = () => ({
    file: row.name,
    facts: row.reliability.map(summaryOf),
  });
  return (
    <details class="sv-models-reliability" key="reliability">
      <summary>{"Reliability of its predictions: " + errorsOf(row.reliability)}</summary>
      <p class="sv-models-about">
        Before a guess is sampled, the confidence head predicts the probability that it will be
        accepted. The guesses are grouped by this prediction in intervals of 10%. Each circle is an
        interval, and its area is the number of guesses. On the diagonal, as many are accepted as
        predicted; above it, the head is too doubtful; below it, too confident. ECE, the expected
        calibration error, is the mean distance from the diagonal, weighted by the number of
        guesses.
      </p>
      <div
        class="sv-models-diagrams"
        ref={(element: HTMLElement | null) => {
          figure = element;
        }}
      >
        {row.reliability.map(Diagram)}
      </div>
      {Pictures(about, [["reliability of " + row.title, () => figure]])}
    </details>
  );
}

const errorsOf = (several: Reliability[]) =>
  several
    .map(({ error, temperature }) => `ECE ${error.toFixed(3)} at temperature ${temperature}`)
    .join(", ");

const summaryOf = ({ temperature, guesses, error }: Reliability) =>
  `Temperature ${temperature}: ${guesses.toLocaleString("en")} judged guesses, ECE ${error.toFixed(3)}, measured`;

function Diagram(measured: Reliability) {
  const { bins } = measured;
  const most = Math.max(...bins.map(([count]) => count));
  const points = bins.map(
    ([count, mean, kept]) => `predicted ${percent(mean)}, accepted ${percent(kept)} of ${count}`,
  );
  return (
    <figure key={measured.temperature}>
      <svg
        width={LEFT + SIDE + 16}
        height={TOP + SIDE + BOTTOM}
        role="img"
        aria-label={points.join("; ")}
      >
        {TICKS.flatMap(Tick)}
        <line class="sv-rely-diagonal" x1={x(0)} y1={y(0)} x2={x(1)} y2={y(1)} />
        {bins.flatMap(([count, mean, kept], at) => [
          <line class="sv-rely-gap" x1={x(mean)} y1={y(mean)} x2={x(mean)} y2={y(kept)} />,
          <circle cx={x(mean)} cy={y(kept)} r={Math.max(2, LARGEST * Math.sqrt(count / most))}>
            <title>{points[at]}</title>
          </circle>,
        ])}
        <text x={x(0.5)} y={TOP + SIDE + 34} text-anchor="middle">
          predicted
        </text>
        <text x={12} y={y(0.5)} text-anchor="middle" transform={`rotate(-90 12 ${y(0.5)})`}>
          accepted
        </text>
      </svg>
      <figcaption>{summaryOf(measured)}</figcaption>
    </figure>
  );
}

/** Grid lines and labels of both axes. */
const Tick = (share: number) => [
  <line class="sv-rely-grid" x1={x(share)} y1={y(0)} x2={x(share)} y2={y(1)} />,
  <line class="sv-rely-grid" x1={x(0)} y1={y(share)} x2={x(1)} y2={y(share)} />,
  <text x={x(share)} y={y(0) + 16} text-anchor="middle">
    {percent(share)}
  </text>,
  <text x={LEFT - 6} y={y(share) + 4} text-anchor="end">
    {percent(share)}
  </text>,
];
