// An answer as shown: the verdict, its numbers, and a table of all numbers by word.

import { flat } from "../../shared/dom";
import { HeadRow, Mark, TableRow, termAttributes, Token } from "../../shared/view";

import type { Word } from "../../../frames/scene.py";
import type { Answer } from "./answer.py";

const NUMBERS: [name: string, title: string, term?: string][] = [
  ["tv", "distance from p (TV)", "tv"],
  ["kept", "probability that a guess is accepted", "alpha"],
  ["ceiling", "highest acceptance probability that a lossless rule allows"],
  ["tokens", "tokens per round, with 4 guesses in a row"],
];

/** @param answer Null before the first. */
export function Verdict(answer: Answer | null, words: Word[]) {
  const worst = answer?.worst ?? null;
  const subject = worst === null ? null : <span class="sv-sand-word">{Token(words[worst])}</span>;
  return [
    <p class="sv-sand-verdict" role="status" aria-live="polite">
      <b class="sv-sand-badge" data-is={answer?.verdict}>
        {answer && Mark(answer.verdict === "exact" ? "accepted" : "rejected")}
        {answer?.verdict}
      </b>{" "}
      <span class="sv-sand-said">
        {subject}
        {subject && " "}
        {answer?.sentence}
      </span>
    </p>,
    <dl class="sv-sand-numbers">
      {NUMBERS.map(([name, title, term]) => (
        <div>
          <dt {...termAttributes(term)}>{title}</dt>
          <dd data-number={name}>{answer?.numbers[name]}</dd>
        </div>
      ))}
    </dl>,
    <p class="sv-sand-why">{answer?.why}</p>,
  ];
}

export function NumbersTable({ table }: Answer, words: Word[]) {
  const names = [...words.map(flat), "sum"];
  const rows = table.rows.map((row, at) => TableRow([names[at], ...row], at));
  return (
    <table class="sv-sand-table">
      <caption>All numbers of the sandbox, token by token</caption>
      <thead>{HeadRow(["token", ...table.heads])}</thead>
      <tbody>{rows}</tbody>
    </table>
  );
}
