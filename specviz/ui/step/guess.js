// Predict first: the reader predicts each verdict, or its probability, before it is shown. What
// scores is the likelier outcome, whatever the coin turns out to be.

import { el } from "../shared/dom.js";
import { there } from "../shared/there.js";
import { answerButton, part } from "./caption.js";
import { go } from "./cursor.js";
import { now } from "./now.js";
import { frameAt, reel, stepName } from "./reel.js";
import { $ } from "./stage.js";

/** @import { Part, Place, TossedTrial, TrialPanel } from "./data.js" */

let guessing = false;
let byChance = false; // whether the probability itself is asked for
let bets = { good: 0, of: 0 };
let chances = { off: 0, of: 0 };
const answered = new Set(); // verdicts that were predicted or seen already
/** @type {{ key: string, parts: Part[] } | null} */
let told = null; // feedback on the latest answer, until the reader moves on

/** @param {Place} to */
const verdictKey = ([round, step]) =>
  there(reel.run).id + "/" + reel.rounds[round].number + "/" + step;

// Whether the reader should be asked before this step is shown.
/** @param {Place} to */
export function mustAsk(to) {
  return guessing && stepName(...to).kind === "judge" && !answered.has(verdictKey(to));
}

// The answer buttons while a verdict is asked for; after an answer, the feedback on it.
export function showGuess() {
  if (now.question) return offer();
  if (told && told.key === verdictKey([now.at.round, now.at.step])) {
    return $(".sv-say").replaceChildren(...told.parts.map(part));
  }
  told = null;
  return undefined;
}

// The token on trial at a step that judges one.
/** @param {Place} to */
const trialAt = (to) => /** @type {TrialPanel} */ (frameAt(...to).panel);

function offer() {
  const panel = trialAt(there(now.question));
  const old = $(".sv-say").querySelector(".sv-answers");
  if (old) old.remove();
  const { coin } = panel;
  const made = el("span", "sv-answers", ...(coin && byChance ? slider() : choices(Boolean(coin))));
  $(".sv-say").append(" ", made);
}

/** @param {boolean} tossed */
function choices(tossed) {
  const made = [
    answerButton("Accepted", () => answer(true)),
    answerButton("Rejected", () => answer(false)),
  ];
  const other = () => askBy(true);
  return tossed ? [...made, answerButton("Estimate the probability", other)] : made;
}

function slider() {
  const input = el("input", "sv-chance");
  Object.assign(input, { type: "range", min: "0", max: "1", step: "0.01", value: "0.5" });
  input.setAttribute("aria-label", "Probability that it is accepted");
  const said = el("b", "sv-chance-said", "0.50");
  said.setAttribute("aria-hidden", "true"); // the slider says its own value
  input.addEventListener("input", () => {
    said.textContent = input.valueAsNumber.toFixed(2);
  });
  const sure = () => answerChance(input.valueAsNumber);
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault(); // or it would press the button that has the focus then
    sure();
  });
  const label = el("span", "sv-chance-label", "Probability:");
  return [
    label,
    input,
    said,
    answerButton("Answer", sure),
    answerButton("Accepted or rejected?", () => askBy(false)),
  ];
}

/** @param {boolean} chance */
function askBy(chance) {
  byChance = chance;
  offer();
  /** @type {HTMLElement | null} */
  const taken = $(".sv-say").querySelector(chance ? ".sv-chance" : ".sv-answer");
  there(taken).focus();
}

/** @param {boolean} kept */
function answer(kept) {
  const { good, parts } = judgeBet(trialAt(there(now.question)), kept);
  bets = { good: bets.good + Number(good), of: bets.of + 1 };
  tell(parts);
}

/** @param {number} said */
function answerChance(said) {
  const { off, parts } = judgeChance(
    /** @type {TossedTrial} */ (trialAt(there(now.question))),
    said,
  );
  chances = { off: chances.off + off, of: chances.of + 1 };
  tell(parts);
}

// Shows the verdict with feedback on the answer. The focused button is gone then.
/** @param {Part[]} parts */
function tell(parts) {
  told = { key: verdictKey(there(now.question)), parts };
  const held = $(".sv-say").contains(document.activeElement);
  showScore();
  reveal();
  if (held) $("[data-do=next]").focus({ preventScroll: true });
}

/**
 * Whether a prediction scores, and why. At a probability of exactly one half both do.
 * @param {TrialPanel} panel
 * @param {boolean} kept
 * @returns {{ good: boolean, parts: Part[] }}
 */
export function judgeBet(panel, kept) {
  const bet = kept ? "accepted" : "rejected";
  const sure = certainty(panel);
  if (sure) {
    const good = panel.accepted === kept;
    const start = "You said " + bet + ", but ";
    return { good, parts: [good ? "Right: " : start, ...sure] };
  }
  const { coin, text } = /** @type {TossedTrial} */ (panel);
  const good = kept ? coin.threshold >= 0.5 : coin.threshold <= 0.5;
  /** @type {Part} */
  const chance = { n: text.threshold, as: "both" };
  /** @type {Part[]} */
  const parts = [
    good ? "Right: " : "You said " + bet + ", but ",
    ...ratio(/** @type {TossedTrial} */ (panel)),
  ];
  parts.push(", so the probability of acceptance is ", chance);
  const likelier = coin.threshold > 0.5 ? "accepted" : "rejected";
  if (coin.threshold === 0.5) parts.push(": both outcomes are equally likely, so either scores.");
  else parts.push(": “" + likelier + "” was the likelier outcome.");
  return { good, parts: [...parts, ...fell(/** @type {TossedTrial} */ (panel))] };
}

/**
 * How far off an estimated probability was, in hundredths as both are shown.
 * @param {TossedTrial} panel
 * @param {number} said
 * @returns {{ off: number, parts: Part[] }}
 */
export function judgeChance(panel, said) {
  const { threshold } = panel.coin;
  const is = threshold === 0 || threshold === 1 ? String(threshold) : threshold.toFixed(2);
  const off = Math.abs(said - Number(is));
  /** @type {Part[]} */
  const parts = ["You said " + said.toFixed(2) + "; it is ", { n: is, as: "both" }];
  parts.push(off < 0.005 ? ", exact to two decimals" : ", off by " + off.toFixed(2));
  const why = certainty(panel) || [...ratio(panel), "."];
  return { off, parts: [...parts, ": ", ...why, ...fell(panel)] };
}

// Why no coin could have changed the verdict; null if one could.
/** @param {TrialPanel} panel @returns {Part[] | null} */
function certainty(panel) {
  const { coin, accepted, w, q, laws, because } = panel;
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
  const p = laws.left.includes("p") ? "p′" : "p";
  if (accepted) return [p + (q === undefined ? " is 1" : " ≥ q") + ", so it is always accepted."];
  const none = p === "p" ? "p is 0" : "nothing of p remains for it";
  return [none + ", so it is never accepted."];
}

/** @param {TossedTrial} panel @returns {Part[]} */
function ratio({ q, laws, text, because }) {
  if (because) return because;
  const [p, other] = ["p", "q"].map((name) => name + (laws.left.includes(name) ? "′" : ""));
  /** @type {Part} */
  const share = { n: text.threshold, as: "both" };
  if (q === undefined)
    return [p + " is ", share, ", and without q a guess is accepted with probability " + p];
  return [p + " is ", share, " of " + other];
}

/** @param {TossedTrial} panel @returns {Part[]} */
const fell = ({ text }) => [" The coin is ", { n: text.u, as: "u" }, "."];

function showScore() {
  const lines = [
    bets.of ? bets.good + " of " + bets.of + " points" : "",
    chances.of ? "mean error " + (chances.off / chances.of).toFixed(2) : "",
  ].filter(Boolean);
  $(".sv-score").replaceChildren(...lines.map((line) => el("span", "", line)));
}

// The verdict itself, after an answer or without one.
export function reveal() {
  const to = there(now.question);
  answered.add(verdictKey(to));
  go(...to);
}

export function showGuessing() {
  /** @type {HTMLInputElement} */
  const box = $(".sv-guess input");
  $(".sv-score").title =
    "Your prediction scores if it was the likelier outcome. The coin itself is luck and does not count.";
  box.addEventListener("change", () => {
    guessing = box.checked;
    byChance = false;
    bets = { good: 0, of: 0 };
    chances = { off: 0, of: 0 };
    showScore();
    if (!guessing && now.question) go(now.at.round, now.at.step);
    box.blur(); // so that arrow keys step again
  });
}
