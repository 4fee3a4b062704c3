// Guess first: the reader predicts each verdict before it is shown, and the page keeps score.

import { el } from "../shared/dom.js";
import { part } from "./caption.js";
import { go } from "./cursor.js";
import { now } from "./now.js";
import { frameAt, reel, stepName } from "./reel.js";
import { $ } from "./stage.js";

let guessing = false;
let score = { right: 0, of: 0 };
const answered = new Set(); // verdicts that were guessed or seen already

const verdictKey = ([round, step]) => reel.run.id + "/" + reel.rounds[round].number + "/" + step;

// Whether the reader should be asked before this step is shown.
export function mustAsk(to) {
  return guessing && stepName(...to).kind === "judge" && !answered.has(verdictKey(to));
}

export function ask(to) {
  now.question = to;
  const panel = frameAt(...to).panel;
  const badge = $(".sv-verdict");
  badge.className = "sv-verdict";
  badge.textContent = "Your guess?";
  const parts = panel.coin
    ? [
        "Will ",
        { w: panel.w },
        panel.laws.left.includes("p") ? " be kept? What is left of p (p′)" : " be kept? The target",
        " gives it ",
        { n: panel.text.p, as: "p" },
        ...(panel.laws.none
          ? [", and there is no q"]
          : [
              panel.laws.left.includes("q") ? ", what was left of q (q′) " : ", the draft ",
              { n: panel.text.q, as: "q" },
            ]),
        ". ",
      ]
    : ["Is ", { w: panel.w }, " the target's top token? "];
  const answers = [
    ["Kept", true],
    ["Rejected", false],
  ].map(([label, kept]) => {
    const made = el("button", "sv-answer", label);
    made.type = "button";
    made.addEventListener("click", () => answer(kept));
    return made;
  });
  $(".sv-say").replaceChildren(...parts.map(part), ...answers);
  $(".sv-next-name").replaceChildren("Show the verdict");
}

function answer(kept) {
  const to = now.question;
  score.of += 1;
  if (frameAt(...to).panel.accepted === kept) score.right += 1;
  $(".sv-score").textContent = score.right + " of " + score.of + " right";
  reveal();
}

// The verdict itself, after an answer or without one.
export function reveal() {
  const to = now.question;
  now.question = null;
  answered.add(verdictKey(to));
  go(...to);
}

export function showGuessing() {
  const box = $(".sv-guess input");
  box.addEventListener("change", () => {
    guessing = box.checked;
    score = { right: 0, of: 0 };
    $(".sv-score").textContent = "";
    if (!guessing && now.question) go(now.at.round, now.at.step);
    box.blur(); // so that arrow keys step again
  });
}
