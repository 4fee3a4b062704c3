// A processor's pipeline compared with a round of decoding: which stages correspond, with the
// numbers of the round on screen.

import { Pictures } from "../shared/picture";
import { classes } from "../shared/view";

import type { RunLine } from "../step/lines.py";
import type { PipelineRound } from "./lessons.py";

const guesses = (count: number) => `${count} guess${count === 1 ? "" : "es"}`;
const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? "" : "s"}`;

/**
 * A stage: the processor's term and ours, the kinds of steps that belong to it, and its number,
 * which is known once one of these steps is shown.
 */
const STAGES: {
  theirs: string;
  ours: string;
  kinds: string[];
  number(round: PipelineRound): string;
}[] = [
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

/** @param kind The kind of the step on screen. */
const isKnown = (kinds: string[], kind: string) => ORDER.indexOf(kinds[0]) <= ORDER.indexOf(kind);

/** @param kind The kind of the step. */
export function PipelineFigure(
  rounds: PipelineRound[],
  number: number | undefined,
  kind: string,
  run?: Pick<RunLine, "source" | "drafter" | "on" | "where"> | null,
) {
  const round = rounds.find((one) => one.number === number);
  const facts = run ? [run.source, run.drafter + " drafts for " + run.on, run.where] : [];
  const about = () => ({ file: "round-" + number, facts });
  const table = (): HTMLElement | null => document.querySelector(".sv-pipe");
  return [
    <table class="sv-pipe">
      <caption>{round ? `Round ${round.number} of this run` : "A round of this run"}</caption>
      <thead>
        <tr>
          <th scope="col">A processor</th>
          <th scope="col">Decoding</th>
          <th scope="col">Here</th>
        </tr>
      </thead>
      <tbody>
        {STAGES.map(({ theirs, ours, kinds, number: text }) => (
          <tr class={classes(kinds.includes(kind) && "sv-pipe-now")}>
            <td>{theirs}</td>
            <td>{ours}</td>
            <td>{round && isKnown(kinds, kind) ? text(round) : ""}</td>
          </tr>
        ))}
      </tbody>
    </table>,
    Pictures(about, [["pipeline", table]]),
  ];
}
