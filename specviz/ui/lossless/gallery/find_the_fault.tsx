// "Find the fault": a quiz that shows a rule's statistics, and its name only after the answer.

import { required } from "../../shared/required";
import { Button } from "../../shared/view";
import { Badge } from "./gallery_case";

import type { CaseData } from "./answer.py";

const SOUND = "No fault: the output follows p";
const OFFERED = 4;

/** offered: keys of the options. choice: the chosen key, "" for no fault; null before a choice. */
const quiz = {
  key: "",
  offered: [] as string[],
  choice: null as string | null,
  right: 0,
  tried: 0,
};

/** Return whether the rule's name may be shown. */
export const isSolved = () => quiz.choice !== null;

/** Choose the next case and return its key. */
export function nextCase(studies: CaseData[]) {
  const others = studies.filter(({ key }) => key !== quiz.key);
  const own = others[Math.floor(Math.random() * others.length)];
  const wrong = studies.filter(({ verdict, key }) => verdict === "lossy" && key !== own.key);
  const picked = shuffled(wrong).slice(0, OFFERED - 1);
  const right = own.verdict === "lossy" ? [own] : [];
  const offered = shuffled([...picked, ...right]).slice(0, OFFERED);
  Object.assign(quiz, { key: own.key, offered: offered.map(({ key }) => key), choice: null });
  return quiz.key;
}

function shuffled<Item>(items: Item[]) {
  const found = [...items];
  for (let at = found.length - 1; at > 0; at -= 1) {
    const other = Math.floor(Math.random() * (at + 1));
    [found[at], found[other]] = [found[other], found[at]];
  }
  return found;
}

const fault = ({ verdict, key }: CaseData) => (verdict === "lossy" ? key : "");

/** The question and its options, or the solution after a choice. */
export function Quiz(
  studies: CaseData[],
  { chosen, next }: { chosen: () => void; next: () => void },
) {
  const named = (key: string) => required(studies.find((each) => each.key === key));
  const choose = (choice: string) => {
    quiz.choice = choice;
    quiz.tried += 1;
    quiz.right += choice === fault(named(quiz.key)) ? 1 : 0;
    chosen();
  };
  return [
    ...(isSolved() ? Solution(named(quiz.key), next) : Options(named, choose)),
    <p class="sv-wild-score">{quiz.tried ? "solved: " + quiz.right + " of " + quiz.tried : ""}</p>,
  ];
}

const Options = (named: (key: string) => CaseData, choose: (choice: string) => void) => [
  <p>Which rule produced this?</p>,
  ...[...quiz.offered, ""].map((key) =>
    Button(key ? named(key).name : SOUND, () => choose(key), { key }),
  ),
  <details class="sv-wild-names">
    <summary>What these rules do</summary>
    {Rules(quiz.offered.map(named))}
  </details>,
];

/** How each rule works, but not whether it is exact. */
const Rules = (studies: CaseData[]) => (
  <dl>
    {studies.map(({ key, name, drawn, judged }) => (
      <div key={key}>
        <dt>{name}</dt>
        <dd>{drawn}</dd>
        <dd>{judged}</dd>
      </div>
    ))}
  </dl>
);

const Solution = (study: CaseData, next: () => void) => [
  <p class="sv-wild-said">
    <b>{quiz.choice === fault(study) ? "Correct:" : "No, it was this one:"}</b> {Badge(study)}
    {" " + study.name + "."}
  </p>,
  Button("Another case", next, { class: "sv-button", "data-do": "case" }),
];
