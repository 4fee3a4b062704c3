// One published rule: its result, its output, how it works, and what its source claims.

import { HeadRow, Mark } from "../../shared/view";
import { gridStyle, OutputColumns, WordRow } from "../../shared/output_columns";

import type { Word } from "../../../frames/scene.py";
import type { CaseData, Evidence } from "./answer.py";

export const Badge = ({ verdict }: CaseData) => (
  <span class="sv-wild-badge" data-is={verdict}>
    {Mark(verdict === "exact" ? "accepted" : "rejected")}
    {verdict}
  </span>
);

/** The output of a rule, which may have fewer words than the others. */
function Output(all: Word[], out: number[], p: number[], intervals?: [number, number][]) {
  const words = all.slice(0, p.length);
  return [
    OutputColumns({ words, p, parts: [["sv-wild-fill", out]], intervals, name: "sv-wild-columns" }),
    WordRow(words),
  ];
}

export function GalleryCase(study: CaseData, words: Word[]) {
  const [title, url] = study.source;
  const link = (
    <a href={url} rel="noopener noreferrer" target="_blank">
      {title}
    </a>
  );
  return [
    <h3>
      {Badge(study)}
      {" " + study.name}
    </h3>,
    <p class="sv-wild-found">{study.sentence}</p>,
    ...Output(words, study.out, study.p),
    BothRow(study),
    <dl>
      {Row("How guesses are chosen", study.drawn)}
      {Row("How they are judged", study.judged)}
      <div class="sv-wild-why">
        <dt>Why</dt>
        <dd>{study.why}</dd>
      </div>
      {Row("The claim in the source", study.claimed, <br />, link)}
    </dl>,
  ];
}

/** p and q of each word, below it. */
const BothRow = ({ p, q }: CaseData) => (
  <div class="sv-sand-words sv-wild-both" style={gridStyle(p)}>
    {p.map((share, at) => (
      <span>
        <b class="sv-sand-p-ink">{"p " + share.toFixed(2)}</b>{" "}
        <b class="sv-sand-q-ink">{"q " + q[at].toFixed(2)}</b>
      </span>
    ))}
  </div>
);

const Row = (name: string, ...inside: import("preact").ComponentChild[]) => (
  <div>
    <dt>{name}</dt>
    <dd>{inside}</dd>
  </div>
);

/** A rule's statistics, without its name. */
export function CaseEvidence({ lead, draft, out, p, intervals, strings }: Evidence, words: Word[]) {
  return [
    <h3>The evidence</h3>,
    <p class="sv-wild-found">{lead}</p>,
    <p class="sv-wild-found">{draft}</p>,
    ...Output(words, out, p, intervals),
    ...(strings.length
      ? [<p class="sv-wild-found">Counts of whole sequences:</p>, SequenceTable(strings)]
      : []),
  ];
}

function SequenceTable(rows: string[][]) {
  const heads = ["sequence", "count", "expected from p", "difference"];
  return (
    <table class="sv-sand-table">
      <thead>{HeadRow(heads)}</thead>
      <tbody>
        {rows.map((row) => (
          <tr>
            {row.map((text) => (
              <td>{text}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
