// One published rule: its result, its output, how it works, and what its source claims.

import { h, HeadRow, Mark } from "../../shared/view.js";
import { gridStyle, OutputColumns, WordRow } from "../shared/output_columns.js";

/** @import { Word } from "../../../frames/scene.py" */
/** @import { CaseData, Evidence } from "./answer.py" */

/** @param {CaseData} study */
export const Badge = ({ verdict }) =>
  h(
    "span",
    { class: "sv-wild-badge", "data-is": verdict },
    Mark(verdict === "exact" ? "accepted" : "rejected"),
    verdict,
  );

/**
 * The output of a rule, which may have fewer words than the others.
 * @param {Word[]} all @param {number[]} out @param {number[]} p @param {[number, number][]} [intervals]
 */
function Output(all, out, p, intervals) {
  const words = all.slice(0, p.length);
  return [
    OutputColumns({ words, p, parts: [["sv-wild-fill", out]], intervals, name: "sv-wild-columns" }),
    WordRow(words),
  ];
}

/** @param {CaseData} study @param {Word[]} words */
export function GalleryCase(study, words) {
  const [title, url] = study.source;
  const link = h("a", { href: url, rel: "noopener noreferrer", target: "_blank" }, title);
  return [
    h("h3", null, Badge(study), " " + study.name),
    h("p", { class: "sv-wild-found" }, study.sentence),
    ...Output(words, study.out, study.p),
    BothRow(study),
    h(
      "dl",
      null,
      Row("How guesses are chosen", study.drawn),
      Row("How they are judged", study.judged),
      h("div", { class: "sv-wild-why" }, h("dt", null, "Why"), h("dd", null, study.why)),
      Row("The claim in the source", study.claimed, h("br", null), link),
    ),
  ];
}

/** p and q of each word, below it. @param {CaseData} study */
const BothRow = ({ p, q }) =>
  h(
    "div",
    { class: "sv-sand-words sv-wild-both", style: gridStyle(p) },
    ...p.map((share, at) =>
      h(
        "span",
        null,
        h("b", { class: "sv-sand-p-ink" }, "p " + share.toFixed(2)),
        " ",
        h("b", { class: "sv-sand-q-ink" }, "q " + q[at].toFixed(2)),
      ),
    ),
  );

/** @param {string} name @param {...import("preact").ComponentChild} inside */
const Row = (name, ...inside) => h("div", null, h("dt", null, name), h("dd", null, ...inside));

/** A rule's statistics, without its name. @param {Evidence} evidence @param {Word[]} words */
export function CaseEvidence({ lead, draft, out, p, intervals, strings }, words) {
  return [
    h("h3", null, "The evidence"),
    h("p", { class: "sv-wild-found" }, lead),
    h("p", { class: "sv-wild-found" }, draft),
    ...Output(words, out, p, intervals),
    ...(strings.length
      ? [h("p", { class: "sv-wild-found" }, "Counts of whole sequences:"), SequenceTable(strings)]
      : []),
  ];
}

/** @param {string[][]} rows */
function SequenceTable(rows) {
  const heads = ["sequence", "count", "expected from p", "difference"];
  return h(
    "table",
    { class: "sv-sand-table" },
    h("thead", null, HeadRow(heads)),
    h(
      "tbody",
      null,
      ...rows.map((row) => h("tr", null, ...row.map((text) => h("td", null, text)))),
    ),
  );
}
