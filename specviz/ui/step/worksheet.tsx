// Worksheets: pages to print, blank or solved, on the decision on screen, or one on each
// decision of the run, or of a lesson plan. Their numbers are computed from rounded ones, as readers
// do; see worksheet_numbers.ts.

import { required } from "../shared/required";
import { Button, classes, render, RunningToken, Token } from "../shared/view";
import { firstRejection, frameAt, go, placeOf, player, readRun, stepName, stepsOf } from "./state";
import { notice } from "./live";
import { pause } from "./playback";
import { others } from "./residual_table";
import { hasQ, sheetNumbers } from "./worksheet_numbers";

import type { ComponentChild } from "preact";
import type { VerdictPanel } from "../../frames/inspector.py";
import type { Word } from "../../frames/scene.py";
import type { Table, TableRow } from "../../frames/table.py";
import type { Line } from "./lines.py";
import type { Link, Place } from "./state";
import type { SheetNumbers } from "./worksheet_numbers";
export type Exercise = {
  text: ComponentChild[];
  source: string;
  panel: VerdictPanel;
  table: Table;
  numbers: SheetNumbers;
  next: VerdictPanel | null;
  replaced: Word | null;
};

const PROMPT_CHARACTERS = 360; // characters of the prompt, from its end
const RECENT = 60; // number of tokens after the prompt
const MOST = 50; // pages of one print, and as many with solutions
// The rules that accept a guess with probability min(1, p ÷ q), or p without q.
const RULES = ["auto", "speculative", "without-replacement", "point-mass", "greedy"];
const NO_VERDICT =
  "A worksheet needs a judged guess. No guess of this run was rejected: step to an accepted one, or choose another run.";
const OTHER_RULE =
  "There is a worksheet only for rules that accept with probability p ÷ q; this run has another rule.";

// While it is open, only the sheet is printed. Inside `@media`, Gradio adds its own container to
// every selector of the page's style sheets, and it drops `@page`, so these rules are in a separate
// style element.
const PRINT = `
@page { size: A4 portrait; margin: 14mm 16mm; }
@media print {
  body > :not(.sv-sheet-view) { display: none !important; }
  body { background: #fff !important; }
  .sv-sheet-view { position: static; padding: 0; background: none; overflow: visible; }
  .sv-sheet-tools { display: none !important; }
  .sv-sheet { width: auto; min-height: 0; margin: 0; padding: 0; break-inside: avoid; }
  .sv-sheet ~ .sv-sheet { break-before: page; }
}`;
const printed = new CSSStyleSheet();

/** Links to the worksheet of the step on screen, and to those of the run. */
export const WorksheetLinks = () => [
  <p key="one">
    {"Worksheet of this step: "}
    {SheetLink("blank", "Worksheet blank", () => open("blank"))}
    {" · "}
    {SheetLink("solutions", "Worksheet solutions", () => open("solutions"))}
  </p>,
  <p key="all">
    {"Worksheets of this run: "}
    {SheetLink("blank", "Worksheets of this run, blank", () => openAll("blank"))}
    {" · "}
    {SheetLink("solutions", "Worksheets of this run, solutions", () => openAll("solutions"))}
  </p>,
];

const SheetLink = (label: string, name: string, opening: () => void) =>
  Button(label, opening, { class: "sv-link", "aria-label": name });

function open(pages: Pages) {
  if (!player.rounds.length) return;
  pause();
  const place = verdictHere() ?? firstRejection();
  if (!place) return notice(NO_VERDICT);
  const exercise = exerciseAt(place);
  if (!exercise) return notice(OTHER_RULE);
  if (!verdictHere()) go(...place); // the page behind shows the same step
  show({ every: [exercise], pages, alone: true });
}

function openAll(pages: Pages) {
  if (!player.rounds.length) return;
  pause();
  const every = exercises();
  if (!every.length) return notice(firstRejection() ? OTHER_RULE : NO_VERDICT);
  show({ every, pages, rejected: every.some(isRejection) });
}

/** Return the exercises of all verdicts of the run. */
function exercises() {
  const places = player.rounds.flatMap((_, round) =>
    Array.from({ length: stepsOf(round) }, (_, step): Place => [round, step]),
  );
  const verdicts = places.filter(([round, step]) => stepName(round, step).kind === "judge");
  return verdicts.flatMap((place) => exerciseAt(place) ?? []);
}

const isRejection = ({ panel }: Exercise) => !panel.accepted;

/** A step, and the lesson that shows it. */
export type LessonLink = Link & { lesson: string };

/**
 * Show a page for each verdict among some steps of recorded runs.
 * @param runs The lines of each run, and its steps.
 */
export function openVerdicts(runs: [lines: Line[], steps: LessonLink[]][], pages: Pages) {
  const every = runs.flatMap(([lines, steps]) => readRun(lines, () => exercisesAt(steps)));
  show({ every, pages });
}

function exercisesAt(steps: LessonLink[]) {
  const found: Map<string, Exercise | null> = new Map();
  for (const step of steps) {
    const place = placeOf(step);
    const verdict = place && verdictAt(place);
    if (!verdict || found.has(verdict.join())) continue;
    const exercise = exerciseAt(verdict);
    const source = `${step.lesson} · ${exercise?.source}`;
    found.set(verdict.join(), exercise && { ...exercise, source });
  }
  return [...found.values()].flatMap((exercise) => exercise ?? []);
}

/** Return the verdict on screen, also while it is being predicted or its replacement is shown. */
const verdictHere = () => verdictAt(player.question ?? [player.at.round, player.at.step]);

function verdictAt([round, step]: Place): Place | null {
  const kind = (at: number) => stepName(round, at).kind;
  if (kind(step) === "judge") return [round, step];
  const recovered = kind(step) === "draw" && frameAt(round, step).panel.kind === "trial";
  return recovered ? [round, step - 1] : null;
}

/** Return the numbers of a verdict; null if its rule does not compare u with p ÷ q. */
export function exerciseAt([round, step]: Place): Exercise | null {
  const panel = frameAt(round, step).panel as VerdictPanel;
  const { rule = "auto" } = required(player.run).settings;
  if (!RULES.includes(String(rule)) || panel.because || !panel.table) return null;
  const after = step + 1 < stepsOf(round) ? frameAt(round, step + 1) : null;
  const follows = !panel.accepted && after?.panel.kind === "trial" ? after : null;
  const next = follows ? (follows.panel as VerdictPanel) : null;
  const drawn = follows?.step.kind === "draw" ? next : null;
  const table = drawn?.table ?? panel.table;
  const replaced = table.rows.find((row) => row.is === "drawn")?.w ?? null;
  const [text, source] = [textBefore([round, step]), sourceOf(round)];
  const numbers = sheetNumbers(table, panel, drawn?.draw);
  return { text, source, panel, table, numbers, next, replaced: drawn ? replaced : null };
}

/** The pages of an exercise that are shown. */
export type Pages = "blank" | "solutions" | "both";

const PAGES: [Pages, string][] = [
  ["blank", "Blank"],
  ["solutions", "Solutions"],
  ["both", "Blank and solutions"],
];

/**
 * What is shown.
 * every: The exercises of the run, or the one on screen.
 * alone: Whether it is only one.
 * rejected: Whether only rejections are shown.
 * range: The first and the last of the exercises that are shown, counted from 1; all by default.
 */
type View = {
  every: Exercise[];
  pages: Pages;
  alone?: boolean;
  rejected?: boolean;
  range?: [number, number];
};

function show(view: View) {
  const returning = document.activeElement;
  const rest = [...document.body.children].filter((each) => !each.hasAttribute("inert"));
  const holder = document.createElement("div");
  holder.className = "sv-sheet-view";
  holder.setAttribute("role", "dialog");
  holder.setAttribute("aria-label", "Worksheet");
  holder.tabIndex = -1;
  const close = () => {
    holder.remove();
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => each !== printed);
    for (const each of rest) each.removeAttribute("inert");
    if (returning instanceof HTMLElement) returning.focus();
  };
  const paint = (shown: View) => render([Tools(shown, paint, close), Sheets(shown)], holder);
  holder.addEventListener("keydown", (event) => {
    event.stopPropagation(); // key events of the page behind
    if (event.key === "Escape") close();
  });
  paint(view);
  printed.replaceSync(PRINT);
  document.adoptedStyleSheets.push(printed);
  for (const each of rest) each.setAttribute("inert", "");
  document.body.append(holder);
  holder.focus();
}

/** Return the exercises to print, the index of the first one, and how many there are. */
function chosen({ every, rejected, range }: View) {
  const found = rejected ? every.filter(isRejection) : every;
  const [first, last] = range ?? [1, found.length];
  const shown = found.slice(first - 1, Math.min(last, first - 1 + MOST));
  return { shown, from: first - 1, all: found.length };
}

function Tools(view: View, paint: (view: View) => void, close: () => void) {
  const { every, pages, rejected, alone } = view;
  const rejections = every.filter(isRejection).length;
  const mixed = rejections > 0 && rejections < every.length;
  const other = rejected ? `All ${every.length} decisions` : `Rejections only (${rejections})`;
  const tool = (label: string, act: () => void) => Button(label, act, { class: "sv-button" });
  return (
    <p class="sv-sheet-tools">
      {tool("Print", () => window.print())}
      {PAGES.filter(([name]) => name !== pages).map(([name, label]) =>
        tool(label, () => paint({ ...view, pages: name })),
      )}
      {!alone &&
        mixed &&
        tool(other, () => paint({ ...view, rejected: !rejected, range: undefined }))}
      {!alone && every.length > 1 && Range(view, paint)}
      {tool("Close", close)}
    </p>
  );
}

/** Which of the decisions are shown. */
function Range(view: View, paint: (view: View) => void) {
  const { shown, from, all } = chosen(view);
  const ends: [number, number] = [from + 1, from + shown.length];
  const field = (name: string, at: 0 | 1) => {
    const onChange = ({ currentTarget }: Event & { currentTarget: HTMLInputElement }) => {
      const value = Math.min(Math.max(Math.round(currentTarget.valueAsNumber) || 1, 1), all);
      const range: [number, number] = at
        ? [Math.min(ends[0], value), value]
        : [value, Math.max(ends[1], value)];
      paint({ ...view, range });
    };
    return (
      <input
        type="number"
        aria-label={name}
        min={1}
        max={all}
        value={ends[at]}
        onChange={onChange}
      />
    );
  };
  return (
    <span class="sv-sheet-range">
      {"Decisions "}
      {field("First decision", 0)}
      {" to "}
      {field("Last decision", 1)}
      {` of ${all}, at most ${MOST} in one print`}
    </span>
  );
}

/** The pages; the solutions follow all the blank pages. */
function Sheets(view: View) {
  const { shown, from, all } = chosen(view);
  const name = (at: number) => (view.alone ? undefined : `decision ${from + at + 1} of ${all}`);
  const sheets = (solved: boolean) =>
    shown.map((exercise, at) => Sheet(exercise, solved, name(at)));
  return [
    ...(view.pages === "solutions" ? [] : sheets(false)),
    ...(view.pages === "blank" ? [] : sheets(true)),
  ];
}

/** @param name Which decision of the print it is about. */
export const Sheet = (exercise: Exercise, solved: boolean, name = "one decision") => (
  <article class="sv-sheet">
    <p class="sv-sheet-who">
      <span>Name</span>
      <i />
      <span>Date</span>
      <i class="sv-sheet-date" />
    </p>
    <h1>{`Speculative decoding: ${name}${solved ? " (solutions)" : ""}`}</h1>
    <p class="sv-sheet-source">{exercise.source}</p>
    <h2>Given</h2>
    <div class="sv-sheet-text">
      <p>{exercise.text}</p>
    </div>
    <p>
      {"After this text, the drafter guesses "}
      {Guess(exercise.panel.w)}
      {". "}
      {coin(exercise)}
    </p>
    {Numbers(exercise, solved)}
    <p class="sv-sheet-source">All numbers are rounded. Compute with them as they are printed.</p>
    <h2>Questions</h2>
    <ol>
      {questions(exercise).map(([question, answer]) => (
        <li>
          {question} {solved ? <b>{answer}</b> : <i />}
        </li>
      ))}
    </ol>
  </article>
);

function sourceOf(round: number) {
  const run = required(player.run);
  const settings = run.summary.map(([, words]) => words).join(" · ");
  return `${run.drafter} drafts for ${run.on} · ${settings} · round ${player.rounds[round].number} · ${run.source} run`;
}

const Guess = (pieces: Word) => <b class="sv-sheet-guess">{Token(pieces)}</b>;

/**
 * Return the tokens between the prompt and the guess of a verdict: those of earlier rounds, and
 * accepted guesses.
 */
export function tokensBefore([round, step]: Place): Word[] {
  const tokens = player.rounds.slice(0, round).flatMap((line) => line.brings.map(([word]) => word));
  const { chips, step: name } = frameAt(round, step);
  const node = Number(name.id.replace("judge-", ""));
  const here = chips.findIndex((chip) => chip.node === node);
  const accepted = chips.slice(0, here).filter((chip) => chip.is === "accepted");
  return [...tokens, ...accepted.map((chip) => chip.w)];
}

/** The end of the text before the guess. */
function textBefore(place: Place): ComponentChild[] {
  const { prompt } = required(player.run);
  const shown = tokensBefore(place);
  const start =
    shown.length > RECENT ? "… " : Array.from(prompt).slice(-PROMPT_CHARACTERS).join("");
  const cut = shown.length <= RECENT && start.length < prompt.length ? "… " : "";
  return [cut + start, ...shown.slice(-RECENT).map(RunningToken)];
}

function coin({ panel, next, replaced }: Exercise) {
  if (!panel.coin) return "The temperature is 0, so no coin is tossed.";
  const first = ["The coin is u = ", <b>{panel.text.u}</b>, "."];
  const second = replaced && next?.draw?.text?.u;
  return second
    ? [...first, " If a replacement is needed, its coin is ", <b>{second}</b>, "."]
    : first;
}

/** @returns The names of both distributions. */
const namesOf = ({ panel }: Exercise): [p: string, q: string] => [
  panel.labels.left.includes("p") ? "p′" : "p",
  panel.labels.left.includes("q") ? "q′" : "q",
];

/** Whether anything is missing after accepting, so that the residual can be scaled. */
const isMissing = ({ numbers }: Exercise) => numbers.left !== "0";

/** A table in which p and q are given; both columns of the residual are to be filled in. */
function Numbers(exercise: Exercise, solved: boolean) {
  const { table, numbers } = exercise;
  const [p, q] = namesOf(exercise);
  const all = hasQ(table);
  const residual = all ? `residual: max(${p} − ${q}, 0)` : `residual: ${p} without the guess`;
  const row = (name: ComponentChild, texts: readonly string[], mark = "") => (
    <tr class={mark}>
      <th scope="row">{name}</th>
      <td>{texts[0]}</td>
      {all ? <td>{texts[1]}</td> : null}
      <td>{texts[2]}</td>
      {scales ? <td>{texts[3]}</td> : null}
    </tr>
  );
  // The value of all other tokens cannot be computed from their sums.
  const filled = (text: string, given = false) => (solved || given ? text : "");
  const { total } = table;
  const scales = isMissing(exercise);
  const heads = ["token", p, all ? q : null, residual, scales && "scaled: residual ÷ sum"];
  return (
    <table class={classes("sv-sheet-table", !all && "sv-sheet-alone")}>
      <thead>
        <tr>{heads.map((head) => head && <th scope="col">{head}</th>)}</tr>
      </thead>
      <tbody>
        {numbers.rows.map(({ row: of, ...texts }) =>
          row(
            NameOf(of),
            [texts.p, texts.q, filled(texts.left, "rest" in of), filled(texts.scaled)],
            of.is === "trial" ? "sv-sheet-judged" : "",
          ),
        )}
        {row("sum", [total.p, total.q, filled(numbers.left), filled("1")], "sv-sheet-sum")}
      </tbody>
    </table>
  );
}

function NameOf({ w, rest, is }: Pick<TableRow, "is"> & { w?: Word; rest?: number }) {
  if (!w) return others(required(rest));
  return is === "trial" ? [Token(w), " (the guess)"] : Token(w);
}

/** Questions on a guess that leaves nothing to be replaced. */
const NOTHING_MISSING: [ComponentChild, ComponentChild][] = [
  [
    "What is the residual of each token? Can the guess be rejected?",
    "0 everywhere: nothing is missing, as far as these decimals show, so it is not rejected",
  ],
];

/** Return each question with its answer. */
function questions(exercise: Exercise): [ComponentChild, ComponentChild][] {
  const { panel, table, numbers } = exercise;
  const [p, q] = namesOf(exercise);
  const guess = required(numbers.rows.find(({ row }) => row.is === "trial"));
  const all = hasQ(table);
  const formula = all ? `min(1, ${p} ÷ ${q})` : p;
  const { threshold } = numbers;
  const worked = all ? `min(1, ${guess.p} ÷ ${guess.q}) = ${threshold}` : threshold;
  const verdict = panel.accepted ? "accepted" : "rejected";
  const sign = panel.accepted ? "is below" : "is not below";
  const why = panel.coin ? `${verdict}: ${panel.text.u} ${sign} ${threshold}` : verdict;
  const first: [ComponentChild, ComponentChild][] = [
    [`With what probability, ${formula}, is the guess accepted?`, worked],
    [
      panel.coin
        ? "Accepted or rejected? Compare the probability with the coin."
        : "Accepted or rejected?",
      why,
    ],
  ];
  if (!isMissing(exercise)) return [...first, ...NOTHING_MISSING];
  const otherwise = panel.accepted ? "Suppose it had been rejected: what " : "What ";
  return [
    ...first,
    [
      `${otherwise}is the residual of each token? Fill in the column; the value in the row of others is given.`,
      "see the table",
    ],
    ["What is the sum of the column?", numbers.left],
    [
      `Divide each residual by the sum, and round to ${numbers.places} decimals. Fill in the last column.`,
      "see the table",
    ],
    ...replacement(exercise),
  ];
}

/** The questions on what replaces the guess. */
function replacement({
  panel,
  numbers,
  next,
  replaced,
}: Exercise): [ComponentChild, ComponentChild][] {
  const question = "What replaces the guess?";
  if (panel.accepted) return [[question, "nothing, since it was accepted"]];
  if (!next) return [];
  if (!replaced) {
    const say = [
      "nothing yet: the next guess, ",
      Token(required(next.w)),
      ", is judged first, with the last column as its p",
    ];
    return [[question, say]];
  }
  const u = next.draw?.text?.u;
  if (!u) return [[question, Token(replaced)]];
  const shares = numbers.order;
  const order = shares.flatMap(({ w, share }, index) => {
    const early = index < shares.length - 1; // only a part of the others comes before a word
    const name = early ? `others (${share} of their share)` : "others";
    return [index ? ", " : "", w ? Token(w) : name];
  });
  const ask = [
    question,
    " Add up the last column in this order until the sum is above the second coin: ",
    ...order,
    ".",
  ];
  const { lo, hi } = numbers;
  return [[ask, [Token(replaced), `: its interval goes from ${lo} to ${hi}, and ${u} is in it`]]];
}
