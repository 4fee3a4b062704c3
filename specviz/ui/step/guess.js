// Guess first: the reader predicts each verdict before it is shown, and the page keeps score.

import { there } from "../shared/there.js";
import { answerButton, part } from "./caption.js";
import { go } from "./cursor.js";
import { now } from "./now.js";
import { frameAt, reel, stepName } from "./reel.js";
import { $ } from "./stage.js";

/** @import { Part, Place, TossedTrial, TrialPanel } from "./data.js" */

let guessing = false;
let score = { right: 0, of: 0 };
const answered = new Set(); // verdicts that were guessed or seen already

/** @param {Place} to */
const verdictKey = ([round, step]) =>
  there(reel.run).id + "/" + reel.rounds[round].number + "/" + step;

// Whether the reader should be asked before this step is shown.
/** @param {Place} to */
export function mustAsk(to) {
  return guessing && stepName(...to).kind === "judge" && !answered.has(verdictKey(to));
}

/** @param {Place} to */
export function ask(to) {
  now.question = to;
  const panel = trialAt(to);
  const badge = $(".sv-verdict");
  badge.className = "sv-verdict";
  badge.textContent = "Your guess?";
  /** @type {Part[]} */
  const parts = panel.coin
    ? [
        "Will ",
        { w: panel.w },
        panel.laws.left.includes("p") ? " be kept? What is left of p (p′)" : " be kept? The target",
        " gives it ",
        { n: panel.text.p, as: "p" },
        ...given(panel),
        ". ",
      ]
    : ["Is ", { w: panel.w }, " the target's top token? "];
  const answers = [
    answerButton("Kept", () => answer(true)),
    answerButton("Rejected", () => answer(false)),
  ];
  $(".sv-say").replaceChildren(...parts.map(part), ...answers);
  $(".sv-next-name").replaceChildren("Show the verdict");
}

// The token on trial at a step that judges one.
/** @param {Place} to */
const trialAt = (to) => /** @type {TrialPanel} */ (frameAt(...to).panel);

/** @param {TossedTrial} panel @returns {Part[]} */
const given = (panel) =>
  panel.q === undefined
    ? [", and there is no q"]
    : [
        panel.laws.left.includes("q") ? ", what was left of q (q′) " : ", the draft ",
        { n: panel.text.q, as: "q" },
      ];

/** @param {boolean} kept */
function answer(kept) {
  const to = there(now.question);
  score.of += 1;
  if (trialAt(to).accepted === kept) score.right += 1;
  $(".sv-score").textContent = score.right + " of " + score.of + " right";
  reveal();
}

// The verdict itself, after an answer or without one.
export function reveal() {
  const to = there(now.question);
  now.question = null;
  answered.add(verdictKey(to));
  go(...to);
}

export function showGuessing() {
  /** @type {HTMLInputElement} */
  const box = $(".sv-guess input");
  box.addEventListener("change", () => {
    guessing = box.checked;
    score = { right: 0, of: 0 };
    $(".sv-score").textContent = "";
    if (!guessing && now.question) go(now.at.round, now.at.step);
    box.blur(); // so that arrow keys step again
  });
}
