// A processor's pipeline compared with a round of decoding: which stages correspond, with the
// numbers of the round on screen.

import { Pictures } from "../shared/picture.js";
import { classes, h } from "../shared/view.js";

/** @import { RunLine } from "../step/lines.py" */
/** @import { PipelineRound } from "./lessons.py" */

/** @param {number} count */
const guesses = (count) => `${count} guess${count === 1 ? "" : "es"}`;
/** @param {number} count @param {string} noun */
const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

/**
 * A stage: the processor's term and ours, the kinds of steps that belong to it, and its number,
 * which is known once one of these steps is shown.
 * @type {{ theirs: string, ours: string, kinds: string[], number(round: PipelineRound): string }[]}
 */
const STAGES = [
  {
    theirs: "predict branches",
    ours: "propose",
    kinds: ["propose"],
    number: ({ drafted }) => guesses(drafted),
  },
  {
    theirs: "execute ahead",
    ours: "score",
    kinds: ["score"],
    number: ({ drafted }) => `1 pass, ${counted(drafted + 1, "position")}`,
  },
  {
    theirs: "resolve",
    ours: "judge",
    kinds: ["draw", "judge"],
    number: ({ accepted }) => `${accepted} accepted`,
  },
  {
    theirs: "flush or commit",
    ours: "commit",
    kinds: ["commit"],
    number: ({ drafted, accepted }) =>
      `${drafted - accepted} discarded, ${counted(accepted + 1, "token")}`,
  },
  {
    theirs: "update the predictor",
    ours: "next length",
    kinds: ["commit"],
    number: ({ next }) => (next === null ? "the run ends" : `next: ${guesses(next)}`),
  },
];

const ORDER = ["propose", "score", "judge", "draw", "commit"]; // of kinds of steps in a round

/** @param {string[]} kinds @param {string} kind The kind of the step on screen. */
const isKnown = (kinds, kind) => ORDER.indexOf(kinds[0]) <= ORDER.indexOf(kind);

/**
 * @param {PipelineRound[]} rounds
 * @param {number | undefined} number
 * @param {string} kind The kind of the step.
 * @param {Pick<RunLine, "source" | "drafter" | "on" | "where"> | null} [run]
 */
export function PipelineFigure(rounds, number, kind, run) {
  const round = rounds.find((one) => one.number === number);
  const facts = run ? [run.source, run.drafter + " drafts for " + run.on, run.where] : [];
  const about = () => ({ file: "round-" + number, facts });
  /** @returns {HTMLElement | null} */
  const table = () => document.querySelector(".sv-pipe");
  return [
    h(
      "table",
      { class: "sv-pipe" },
      h("caption", null, round ? `Round ${round.number} of this run` : "A round of this run"),
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          h("th", { scope: "col" }, "A processor"),
          h("th", { scope: "col" }, "Decoding"),
          h("th", { scope: "col" }, "Here"),
        ),
      ),
      h(
        "tbody",
        null,
        STAGES.map(({ theirs, ours, kinds, number: text }) =>
          h(
            "tr",
            { class: classes(kinds.includes(kind) && "sv-pipe-now") },
            h("td", null, theirs),
            h("td", null, ours),
            h("td", null, round && isKnown(kinds, kind) ? text(round) : ""),
          ),
        ),
      ),
    ),
    Pictures(about, [["pipeline", table]]),
  ];
}
