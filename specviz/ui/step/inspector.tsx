// The inspector: the guesses, the guess being judged with u and a table, a sampled token, or the
// round's totals.

import { byId } from "../shared/dom";
import { Fragment, render, termAttributes, Token } from "../shared/view";
import { BarList } from "./bar_rows";
import { momentKey, player } from "./state";
import { DrafterEvidence } from "./drafter_evidence";
import { DrawStrip } from "./draw_strip";
import { EndCard } from "./end_card";
import { JudgedGuess } from "./judged_guess";
import { Hues } from "./legend";
import { ResidualTable } from "./residual_table";
import { zoom } from "./room";
import { $, stage } from "./stage";

import type { ComponentChild } from "preact";
import type { DrawnFrame as Frame } from "../../figures/frame.py";
import type { Fact } from "../../frames/evidence/forms.py";
import type { GuessesPanel, Panel } from "../../frames/inspector.py";

const ORDINALS = ["", "", "2nd", "3rd"];

/** @param leftOut How many rows of the table are left out. */
export function showInspector(frame: Frame, leftOut = 0) {
  const { panel, step } = frame;
  Object.assign($(".sv-panel").dataset, { kind: panel.kind, step: step.kind });
  $(".sv-panel").classList.toggle("sv-says-why", Boolean(panel.why));
  // From a run's first evidence on, space is reserved for it, so that a step without evidence does
  // not move other elements.
  const reasoned = player.rounds.some(({ frames: [first] }) => first.panel.why);
  $(".sv-evidence").classList.toggle("sv-reasoned", reasoned);
  render(Inspector(frame, leftOut), $(".sv-panel"));
}

function Inspector({ panel, step }: Frame, leftOut: number) {
  const { draw, facts = [], rows, table, times = [], why } = panel;
  const end = step.kind === "end";
  return [
    <div class="sv-head">
      <h2 class="sv-title">{fresh(end ? "The run" : Title(panel))}</h2>
      {/* At the end, nothing is drawn in these colours. */}
      <div class="sv-legend sv-hues" hidden={end}>
        {Hues()}
      </div>
    </div>,
    rows ? BarList(rows, panel.kind !== "guesses") : <div hidden />,
    <div class="sv-facts">{end ? EndCard(times) : facts.map(FactLine)}</div>,
    <div class="sv-why">{why && DrafterEvidence(why, panel.kind === "empty")}</div>,
    <div class="sv-trial">{panel.kind === "trial" && fresh(JudgedGuess(panel))}</div>,
    <div class="sv-table">{table && ResidualTable(table, leftOut)}</div>,
    <div class="sv-draw">{draw && DrawStrip(panel, draw)}</div>,
  ];
}

const LEAST = 180; // px of room for a panel; with less, one scrolls
const RING = 12; // px around an element that a lesson is about, see ring.ts, and above the timeline

/**
 * Hide what does not fit above the timeline: first the part that the sentence is not about, which the
 * step before or after shows, then rows of the table, which "others" contains from then on. If that
 * is not sufficient, the panel scrolls. In one column, the page scrolls instead.
 */
export function fitInspector(frame: Frame) {
  const { why } = frame.panel;
  const { kind } = frame.step;
  for (const each of stage.all(".sv-left-out")) each.classList.remove("sv-left-out");
  const panel = $(".sv-panel");
  scroll(panel, false);
  const { top } = $(".sv-evidence").getBoundingClientRect();
  const room = roomBelow(top);
  limitTo(room ? Math.floor(room / zoom) + "px" : "");
  if (!room) return;
  if (why && inLesson() && panel.scrollHeight > panel.clientHeight) leaveOutChart();
  const over = () => Math.max(...[...panel.children].map(bottomOf)) - top - room;
  if (over() <= 0) return;
  const aside = { draw: ".sv-trial", judge: ".sv-draw" }[String(kind)];
  if (aside) leaveOut($(aside));
  shorten(frame, over());
  if (kind === "judge" && over() > 0) leaveOut($(".sv-table"));
  scroll(panel, over() > 0);
}

// A lesson is about the evidence; the tree has the probabilities of the guesses, too.
function leaveOutChart() {
  if (!$(".sv-why").checkVisibility({ visibilityProperty: true })) return;
  for (const name of [".sv-panel > .sv-head", ".sv-panel > .sv-chart"]) leaveOut($(name));
}

const inLesson = () => document.body.classList.contains("sv-in-lesson");

function scroll(panel: HTMLElement, scrolls: boolean) {
  panel.classList.toggle("sv-scrolls", scrolls);
  // So that keys can scroll it.
  if (scrolls) panel.tabIndex = 0;
  else panel.removeAttribute("tabindex");
}

/** @param over By how many pixels it is too high. */
function shorten(frame: Frame, over: number) {
  const { table } = frame.panel;
  if (over <= 0 || !table?.folds.length) return;
  const rows = Math.ceil(over / $(".sv-mr").getBoundingClientRect().height);
  const added = table.rows.some((row) => row.rest) ? 0 : 1; // the row of all other tokens
  showInspector(frame, Math.min(rows + added, table.folds.length));
}

/** Return how many pixels there are above the timeline, from `top` in the window; 0 if the page scrolls. */
function roomBelow(top: number) {
  if ($(".sv").matches(".sv-one, .sv-high")) return 0;
  const below = [".sv-time", ".sv-dock"].map((name) => $(name).getBoundingClientRect().height);
  const room = innerHeight - below[0] - below[1] - (top + scrollY) - (inLesson() ? RING : 0);
  if (room >= LEAST) return room;
  // The page's head and the text may scroll below the panel of a lesson, which stays; see ring.ts.
  const card = byId("sv-lesson")?.getBoundingClientRect().height ?? 0;
  const scrolls = $(".sv-caption").getBoundingClientRect().top + scrollY - card - RING;
  return inLesson() && room + scrolls >= LEAST ? room + scrolls : 0;
}

// It is not inherited: a change restyles the parts with this limit, and not all that they contain.
CSS.registerProperty({
  name: "--room",
  syntax: "<length>",
  inherits: false,
  initialValue: "999px",
});

/** @param room "" for no limit. */
function limitTo(room: string) {
  for (const { style } of [".sv-evidence", ".sv-tree-column", ".sv-panel"].map((name) => $(name)))
    if (style.getPropertyValue("--room") !== room) style.setProperty("--room", room);
}

const bottomOf = (element: Element) => element.getBoundingClientRect().bottom;

const leaveOut = (element: Element) => element.classList.add("sv-left-out");

/** Elements that are new at each step: moving an existing element counts as a layout shift. */
const fresh = (node: ComponentChild) => <Fragment key={momentKey()}>{node}</Fragment>;

function Title(panel: Panel) {
  if (panel.kind === "guesses") return [guessesTitle(panel), ShownCount(panel)];
  if (panel.kind === "empty") return "Nothing drafted";
  if (panel.kind === "round") return "Round " + panel.number;
  const token = <span class="sv-token">{Token(panel.w)}</span>;
  if (panel.kind === "draw") return ["Sampled from p: ", token];
  const tries = ORDINALS[panel.tries] || panel.tries + "th";
  const place = " at +" + panel.at + (panel.tries > 1 ? " · " + tries + " alternative" : "");
  return ["Judging: ", token, <span class="sv-sub">{place}</span>];
}

function guessesTitle({ rows, greedy, scored }: GuessesPanel) {
  const has = (name: "q" | "score") => rows.some((row) => row[name] !== undefined);
  if (!scored && has("q")) return "The drafter's guesses";
  if (!scored && has("score"))
    return <span {...termAttributes("confidence")}>The drafter's confidence</span>;
  if (!scored) return "Guesses (no probabilities)";
  if (greedy) return "Every guess: the target's probability at temperature 1";
  return has("q") ? "Every guess: upper bar p, lower bar q" : "p of every guess";
}

/** Which guesses are in a shortened list. */
function ShownCount({ of, scored, shown }: GuessesPanel) {
  if (!of) return null;
  const which = (scored ? "first " : "newest ") + shown;
  const title = "The " + which + "; the tree has all of them";
  return (
    <span class="sv-sub" title={title}>
      {" · " + which + " of " + of}
    </span>
  );
}

const FactLine = ([name, value]: Fact) => (
  <div class="sv-fact">
    <span>{name}</span>
    <b>{value}</b>
  </div>
);
