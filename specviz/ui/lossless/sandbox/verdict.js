// An answer as shown: the verdict, its numbers, and a table of all numbers by word.

import { flat } from "../../shared/dom.js";
import { h, HeadRow, Mark, TableRow, termAttributes, Token } from "../../shared/view.js";

/** @import { Word } from "../../../frames/scene.py" */
/** @import { Answer } from "./answer.py" */

/** @type {[name: string, title: string, term?: string][]} */
const NUMBERS = [
  ["tv", "distance from p (TV)", "tv"],
  ["kept", "probability that a guess is accepted", "alpha"],
  ["ceiling", "highest acceptance probability that a lossless rule allows"],
  ["tokens", "tokens per round, with 4 guesses in a row"],
];

/** @param {Answer | null} answer Null before the first. @param {Word[]} words */
export function Verdict(answer, words) {
  const worst = answer?.worst ?? null;
  const subject = worst === null ? null : h("span", { class: "sv-sand-word" }, Token(words[worst]));
  return [
    h(
      "p",
      { class: "sv-sand-verdict", role: "status", "aria-live": "polite" },
      h(
        "b",
        { class: "sv-sand-badge", "data-is": answer?.verdict },
        answer && Mark(answer.verdict === "exact" ? "accepted" : "rejected"),
        answer?.verdict,
      ),
      " ",
      h("span", { class: "sv-sand-said" }, subject, subject && " ", answer?.sentence),
    ),
    h(
      "dl",
      { class: "sv-sand-numbers" },
      ...NUMBERS.map(([name, title, term]) =>
        h(
          "div",
          null,
          h("dt", { ...termAttributes(term) }, title),
          h("dd", { "data-number": name }, answer?.numbers[name]),
        ),
      ),
    ),
    h("p", { class: "sv-sand-why" }, answer?.why),
  ];
}

/** @param {Answer} answer @param {Word[]} words */
export function NumbersTable({ table }, words) {
  const names = [...words.map(flat), "sum"];
  const rows = table.rows.map((row, at) => TableRow([names[at], ...row], at));
  return h(
    "table",
    { class: "sv-sand-table" },
    h("caption", null, "All numbers of the sandbox, token by token"),
    h("thead", null, HeadRow(["token", ...table.heads])),
    h("tbody", null, ...rows),
  );
}
