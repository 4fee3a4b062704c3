// "Find the fault": a quiz that shows a rule's statistics, and its name only after the answer.

import { there } from "../../shared/there.js";
import { Button, h } from "../../shared/view.js";
import { Badge } from "./gallery_case.js";

/** @import { CaseData } from "./answer.py" */

const SOUND = "No fault: the output follows p";
const OFFERED = 4;

/** offered: keys of the options. choice: the chosen key, "" for no fault; null before a choice. */
const quiz = {
  key: "",
  /** @type {string[]} */
  offered: [],
  /** @type {string | null} */
  choice: null,
  right: 0,
  tried: 0,
};

/** Return whether the rule's name may be shown. */
export const isSolved = () => quiz.choice !== null;

/** Choose the next case and return its key. @param {CaseData[]} studies */
export function nextCase(studies) {
  const others = studies.filter(({ key }) => key !== quiz.key);
  const own = others[Math.floor(Math.random() * others.length)];
  const wrong = studies.filter(({ verdict, key }) => verdict === "lossy" && key !== own.key);
  const picked = shuffled(wrong).slice(0, OFFERED - 1);
  const right = own.verdict === "lossy" ? [own] : [];
  const offered = shuffled([...picked, ...right]).slice(0, OFFERED);
  Object.assign(quiz, { key: own.key, offered: offered.map(({ key }) => key), choice: null });
  return quiz.key;
}

/** @template Item @param {Item[]} items */
function shuffled(items) {
  const found = [...items];
  for (let at = found.length - 1; at > 0; at -= 1) {
    const other = Math.floor(Math.random() * (at + 1));
    [found[at], found[other]] = [found[other], found[at]];
  }
  return found;
}

/** @param {CaseData} study */
const fault = ({ verdict, key }) => (verdict === "lossy" ? key : "");

/**
 * The question and its options, or the solution after a choice.
 * @param {CaseData[]} studies
 * @param {{ chosen: () => void, next: () => void }} callbacks
 */
export function Quiz(studies, { chosen, next }) {
  /** @param {string} key */
  const named = (key) => there(studies.find((each) => each.key === key));
  /** @param {string} choice */
  const choose = (choice) => {
    quiz.choice = choice;
    quiz.tried += 1;
    quiz.right += choice === fault(named(quiz.key)) ? 1 : 0;
    chosen();
  };
  return [
    ...(isSolved() ? Solution(named(quiz.key), next) : Options(named, choose)),
    h(
      "p",
      { class: "sv-wild-score" },
      quiz.tried ? "solved: " + quiz.right + " of " + quiz.tried : "",
    ),
  ];
}

/** @param {(key: string) => CaseData} named @param {(choice: string) => void} choose */
const Options = (named, choose) => [
  h("p", null, "Which rule produced this?"),
  ...[...quiz.offered, ""].map((key) =>
    Button(key ? named(key).name : SOUND, () => choose(key), { key }),
  ),
  h(
    "details",
    { class: "sv-wild-names" },
    h("summary", null, "What these rules do"),
    Rules(quiz.offered.map(named)),
  ),
];

/** How each rule works, but not whether it is exact. @param {CaseData[]} studies */
const Rules = (studies) =>
  h(
    "dl",
    null,
    studies.map(({ key, name, drawn, judged }) =>
      h("div", { key }, h("dt", null, name), h("dd", null, drawn), h("dd", null, judged)),
    ),
  );

/** @param {CaseData} study @param {() => void} next */
const Solution = (study, next) => [
  h(
    "p",
    { class: "sv-wild-said" },
    h("b", null, quiz.choice === fault(study) ? "Correct:" : "No, it was this one:"),
    " ",
    Badge(study),
    " " + study.name + ".",
  ),
  Button("Another case", next, { class: "sv-button", "data-do": "case" }),
];
