// Predict first: the reader predicts each verdict, or its probability, before it is shown. The more
// probable outcome scores, even if u gives the other one.

import { required } from "../shared/required";
import { h } from "../shared/view";
import { AnswerButton } from "./caption";
import { frameAt, go, player, repaint, stepName } from "./state";
import { $ } from "./stage";

import type { VNode } from "preact";
import type { TossedPanel, VerdictPanel } from "../../frames/inspector.py";
import type { Part } from "../../texts/__init__.py";
import type { Place } from "./state";

const NO_SCORE = { points: 0, predictions: 0, error: 0, estimates: 0 };
const state = {
  on: false,
  estimating: false, // whether the reader is asked for the probability itself
  estimate: { key: "", value: 0 }, // of the verdict with this key
  score: NO_SCORE,
  answered: new Set() as Set<string>, // verdicts that were already predicted or seen
  feedback: null as { key: string; parts: Part[] } | null, // feedback on the latest answer, until the reader moves on
};

const verdictKey = ([round, step]: Place) =>
  required(player.run).id + "/" + player.rounds[round].number + "/" + step;

/** Return the key of the verdict that the reader is asked for. */
const keyAsked = () => verdictKey(required(player.question));

/** Return the value of the slider. */
const estimateHere = () => (state.estimate.key === keyAsked() ? state.estimate.value : 0.5);

/** Return whether the reader should be asked before this step is shown. */
export const mustAsk = (to: Place) =>
  state.on && stepName(...to).kind === "judge" && !state.answered.has(verdictKey(to));

/**
 * The switch and the score.
 * @param beside A button beside them.
 */
export function PredictFirst(beside: VNode | null) {
  const { on, score } = state;
  const lines = [
    score.predictions && "points: " + score.points + " of " + score.predictions,
    score.estimates && "mean error " + (score.error / score.estimates).toFixed(2),
  ].filter(Boolean);
  const title =
    "You get a point if you predicted the likelier outcome. The coin itself is luck and does not count.";
  return (
    <div class="sv-guess">
      <label>
        <input type="checkbox" role="switch" checked={on} onChange={onSwitch} />
        Predict first
      </label>
      <span class="sv-score" title={title}>
        {lines.map((line) => (
          <span>{line}</span>
        ))}
      </span>
      {beside}
    </div>
  );
}

/** Switch the mode on. */
export function predictFirst() {
  state.on = true;
  repaint();
}

function onSwitch({ currentTarget }: Event & { currentTarget: HTMLInputElement }) {
  Object.assign(state, { on: currentTarget.checked, estimating: false, score: NO_SCORE });
  if (!state.on && player.question) go(player.at.round, player.at.step);
  else repaint();
}

/** Return the feedback on the answer about the verdict on screen; null if there is none. */
export function feedbackHere() {
  const { feedback } = state;
  if (feedback && feedback.key === verdictKey([player.at.round, player.at.step]))
    return feedback.parts;
  state.feedback = null;
  return null;
}

// Return the guess that is judged at a step.
const trialAt = (to: Place) => frameAt(...to).panel as VerdictPanel;

/** The buttons or the slider to answer the question on screen. */
export function Answers() {
  const tossed = Boolean(trialAt(required(player.question)).coin);
  const ways = tossed && state.estimating ? Estimate() : Outcomes(tossed);
  return <span class="sv-answers">{ways}</span>;
}

const Outcomes = (tossed: boolean) => [
  AnswerButton("Accepted", () => answer(true)),
  AnswerButton("Rejected", () => answer(false)),
  tossed ? AnswerButton("Estimate the probability", () => ask(true)) : null,
];

function Estimate() {
  const estimate = estimateHere();
  const slider = h("input", {
    class: "sv-chance",
    type: "range",
    min: "0",
    max: "1",
    step: "0.01",
    value: String(estimate),
    "aria-label": "Probability that it is accepted",
    onInput({ currentTarget }) {
      state.estimate = { key: keyAsked(), value: currentTarget.valueAsNumber };
      repaint();
    },
    onKeyDown(event) {
      if (event.key !== "Enter") return;
      event.preventDefault(); // otherwise the key would press the button that then has the focus
      answerEstimate();
    },
  });
  return [
    <span class="sv-chance-label">Probability:</span>,
    slider,
    // Screen readers read the slider's own value.
    <b class="sv-chance-said" aria-hidden="true">
      {estimate.toFixed(2)}
    </b>,
    AnswerButton("Answer", answerEstimate),
    AnswerButton("Accepted or rejected?", () => ask(false)),
  ];
}

/** Ask for the probability, or for the outcome, and move the focus there. */
function ask(estimating: boolean) {
  state.estimating = estimating;
  repaint();
  $(estimating ? ".sv-say .sv-chance" : ".sv-say .sv-answer").focus();
}

function answer(kept: boolean) {
  const { good, parts } = scorePrediction(trialAt(required(player.question)), kept);
  const { points, predictions } = state.score;
  tell(parts, { points: points + Number(good), predictions: predictions + 1 });
}

function answerEstimate() {
  const panel = trialAt(required(player.question)) as TossedPanel;
  const { off, parts } = scoreEstimate(panel, estimateHere());
  const { error, estimates } = state.score;
  tell(parts, { error: error + off, estimates: estimates + 1 });
}

// Show the verdict with feedback on the answer; the focused button disappears.
function tell(parts: Part[], score: Partial<typeof NO_SCORE>) {
  const focused = $(".sv-say").contains(document.activeElement);
  state.feedback = { key: keyAsked(), parts };
  state.score = { ...state.score, ...score };
  reveal();
  if (focused) $("[data-do=next]").focus({ preventScroll: true });
}

// Show the verdict, after an answer or without one.
export function reveal() {
  const to = required(player.question);
  state.answered.add(verdictKey(to));
  go(...to);
}

/**
 * Return whether a prediction scores, and why. At a probability of exactly one half, both outcomes
 * score.
 */
export function scorePrediction(
  panel: VerdictPanel,
  kept: boolean,
): { good: boolean; parts: Part[] } {
  const start = (good: boolean) =>
    good ? "Right: " : "You said " + (kept ? "accepted" : "rejected") + ", but ";
  const sure = certainty(panel);
  if (sure) {
    const good = panel.accepted === kept;
    return { good, parts: [start(good), ...sure] };
  }
  const tossed = panel as TossedPanel;
  const { threshold } = tossed.coin;
  const good = kept ? threshold >= 0.5 : threshold <= 0.5;
  const likelier =
    "“" + (threshold > 0.5 ? "accepted" : "rejected") + "” was the likelier outcome.";
  const parts: Part[] = [
    start(good),
    ...ratio(tossed),
    ", so the probability of acceptance is ",
    { n: tossed.text.threshold, as: "both" },
    ": " + (threshold === 0.5 ? "both outcomes are equally likely, so either scores." : likelier),
    ...coinText(tossed),
  ];
  return { good, parts };
}

/** Return the error of an estimated probability, in hundredths of the numbers shown. */
export function scoreEstimate(
  panel: TossedPanel,
  estimate: number,
): { off: number; parts: Part[] } {
  const { threshold } = panel.coin;
  const is = threshold === 0 || threshold === 1 ? String(threshold) : threshold.toFixed(2);
  const off = Math.abs(estimate - Number(is));
  const exact = off < 0.005;
  const value: Part = { n: is, as: "both" };
  const why = certainty(panel) || [...ratio(panel), "."];
  const parts: Part[] = [
    "You said " + estimate.toFixed(2),
    ...(exact ? [", exact to two decimals"] : [", off by " + off.toFixed(2) + "; it is ", value]),
    ": ",
    ...why,
    ...coinText(panel),
  ];
  return { off, parts };
}

// Return why no u could have changed the verdict; null if one could.
function certainty(panel: VerdictPanel): Part[] | null {
  const { coin, accepted, w, q, labels, because } = panel;
  if (because) return !coin || panel.whatif?.stuck ? because : null;
  if (!coin && accepted) {
    return [{ w }, " is the target's top token, which is always accepted at temperature 0."];
  }
  if (!coin)
    return [
      { w },
      " is not the target's top token, and at temperature 0 nothing else is accepted.",
    ];
  if (!panel.whatif?.stuck) return null;
  const p = labels.left.includes("p") ? "p′" : "p";
  if (accepted) return [p + (q === undefined ? " is 1" : " ≥ q") + ", so it is always accepted."];
  const none = p === "p" ? "p is 0" : "p′ is 0";
  return [none + ", so it is never accepted."];
}

function ratio({ q, labels, text, because }: TossedPanel): Part[] {
  if (because) return because;
  const [p, other] = ["p", "q"].map((name) => name + (labels.left.includes(name) ? "′" : ""));
  const share: Part = { n: text.threshold, as: "both" };
  if (q === undefined)
    return [p + " = ", share, ", and without q a guess is accepted with probability " + p];
  return [p + " ÷ " + other + " = ", share];
}

const coinText = ({ text }: TossedPanel): Part[] => [" The coin is ", { n: text.u, as: "u" }, "."];
