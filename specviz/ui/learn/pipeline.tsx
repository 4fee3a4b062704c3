// A processor's pipeline compared with a round of decoding: which stages correspond, with the
// numbers of the round on screen. Or with a draft made during the check, simulated.

import { plural } from "../shared/dom";
import { Pictures } from "../shared/picture";
import { classes, HeadRow } from "../shared/view";

import type { RunLine } from "../step/lines.py";
import type { OverlapSummary, PipelineRound } from "./lessons.py";

const guesses = (count: number) => plural(count, "guess", "guesses");
const ms = (time: number) => `${time.toFixed(1)} ms`;

/**
 * A stage: the processor's term and ours, the kinds of steps that belong to it, and its number,
 * which is known once one of these steps is shown.
 */
type Stage = {
  theirs: string;
  ours: string;
  kinds: string[];
  number(round: PipelineRound): string;
};

const STAGES: Stage[] = [
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
    number: ({ drafted }) => `1 pass, ${plural(drafted + 1, "position")}`,
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
      `${drafted - accepted} discarded, ${plural(accepted + 1, "token")}`,
  },
  {
    theirs: "update the predictor",
    ours: "next length",
    kinds: ["commit"],
    number: ({ next }) => (next === null ? "the run ends" : `next: ${guesses(next)}`),
  },
];

const OUTCOMES: Record<string, string> = {
  hit: "yes, and the bonus token is the drafter's top",
  "other bonus": "no: the bonus token is not the drafter's top",
  rejected: "no: a guess was rejected",
  "": "the run ends",
};

/** The same for a draft that is made during the check. */
const EARLY: Stage[] = [
  {
    theirs: "follow the likeliest path",
    ours: "draft as if all were accepted",
    kinds: ["score"],
    number: ({ early, check }) => `${ms(early)} of a check of ${ms(check)}`,
  },
  {
    theirs: "resolve",
    ours: "all accepted?",
    kinds: ["commit"],
    number: ({ outcome }) => OUTCOMES[outcome],
  },
  {
    theirs: "keep or flush",
    ours: "use or discard it",
    kinds: ["commit"],
    number: ({ outcome, saved }) => (outcome === "hit" ? `${ms(saved)} saved` : "discarded"),
  },
];

const SHOWN = 4; // rounds of the two time lines
type Span = { from: number; time: number; kind: string };

/** When the rounds draft and check: one after the other, and with drafting during the checks. */
function spansOf(rounds: PipelineRound[]) {
  const [plain, drafter, target]: Span[][] = [[], [], []];
  let [now, soon, ready] = [0, 0, 0];
  const add = (to: Span[], from: number, time: number, kind: string) =>
    time > 0 && to.push({ from, time, kind });
  for (const { drafting, check, early, saved, outcome } of rounds) {
    add(plain, now, drafting, "draft");
    add(plain, now + drafting, check, "check");
    now += drafting + check;
    add(drafter, soon, drafting - ready, "draft");
    soon += drafting - ready;
    add(target, soon, check, "check");
    add(drafter, soon, early, outcome === "hit" ? "draft" : "flushed");
    soon += check;
    ready = saved;
  }
  return { lanes: { "as it ran": plain, drafter, target }, end: now };
}

/** The shown round and the next ones as time lines. */
function Lanes(rounds: PipelineRound[], number: number) {
  const at = rounds.findIndex((one) => one.number === number);
  const { lanes, end } = spansOf(rounds.slice(at, at + SHOWN));
  return (
    <div class="sv-early" aria-hidden="true">
      {Object.entries(lanes).map(([name, spans]) => [
        <span>{name}</span>,
        <div>
          {spans.map(({ from, time, kind }) => (
            <i
              class={`sv-early-${kind}`}
              style={{ left: `${(100 * from) / end}%`, width: `${(100 * time) / end}%` }}
            />
          ))}
        </div>,
      ])}
    </div>
  );
}

const OverlapSentence = ({ hits, predictions, saved, drafting, speedup }: OverlapSummary) => (
  <p class="sv-early-said">
    <b>Simulated</b> from this run's times, as if both could run at once without slowing each other:{" "}
    {hits} of {predictions} predictions come true ({Math.round((100 * hits) / predictions)}%). This
    saves {ms(saved)} of {ms(drafting)} of drafting: {speedup[0].toFixed(2)} becomes{" "}
    {speedup[1].toFixed(2)} times the speed of plain decoding.
  </p>
);

const PARTS = ".sv-pipe, .sv-early, .sv-early-said"; // of a picture
const ORDER = ["propose", "score", "judge", "draw", "commit"]; // of kinds of steps in a round

/** @param kind The kind of the step on screen. */
const isKnown = (kinds: string[], kind: string) => ORDER.indexOf(kinds[0]) <= ORDER.indexOf(kind);

/** @param kind The kind of the step. */
export function PipelineFigure(
  rounds: PipelineRound[],
  number: number | undefined,
  kind: string,
  run?: Pick<RunLine, "source" | "drafter" | "on" | "where"> | null,
  overlap?: OverlapSummary,
) {
  const round = rounds.find((one) => one.number === number);
  const facts = run ? [run.source, run.drafter + " drafts for " + run.on, run.where] : [];
  const about = () => ({ file: "round-" + number, facts });
  const parts = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>(PARTS)];
  return [
    <table class="sv-pipe">
      <caption>{round ? `Round ${round.number} of this run` : "A round of this run"}</caption>
      <thead>{HeadRow(["A processor", "Decoding", "Here"])}</thead>
      <tbody>
        {(overlap ? EARLY : STAGES).map(({ theirs, ours, kinds, number: text }) => (
          <tr class={classes(kinds.includes(kind) && "sv-pipe-now")}>
            <td>{theirs}</td>
            <td>{ours}</td>
            <td>{round && isKnown(kinds, kind) ? text(round) : ""}</td>
          </tr>
        ))}
      </tbody>
    </table>,
    overlap && round && Lanes(rounds, round.number),
    overlap && OverlapSentence(overlap),
    Pictures(about, [["pipeline", parts]]),
  ];
}
