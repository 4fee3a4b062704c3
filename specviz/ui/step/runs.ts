// Receive runs: recorded runs are fetched, live runs are streamed.

import { byId } from "../shared/dom";
import { hidingProblem } from "../shared/hidden";
import { parseLines } from "../shared/job";
import { required } from "../shared/required";
import { measured, run as sharedRun } from "../shared/store";
import { showBranch } from "./branch";
import { fitSteps, showDock } from "./dock";
import { follow, missingRunNotice, moveTo, query } from "./links";
import { job, notice, showFirstRound, STOPPED, tellEnd, waiting } from "./live";
import { feed, firstRejection, go, player } from "./state";
import { paint, reveal } from "./paint";
import { canRace, endRace, race } from "./opening_race";
import { pause, play } from "./playback";
import { showRepeat } from "./repeat";
import { showTimes } from "./lanes";
import { reserveText } from "./size";
import { $, stage } from "./stage";
import { showSource } from "./source_line";
import { clearTokenStrip } from "./token_strip";

import type { Link } from "./state";
import type { Line, RunLine } from "./lines.py";

let fresh = false; // whether a run has begun of which no round is on screen yet

// Apply what a line changes immediately; the rest is drawn when all lines have been processed.
function onLine(line: Line) {
  if (line.kind === "run") onRun(line);
  else if (line.kind === "state") job.state(line);
  else if (line.kind === "hint") showHint(line.sentence);
  else if (line.kind === "error") {
    tellEnd(line.sentence);
    player.link = null;
  }
}

/** Show what new lines have changed. */
export function showLines(lines: Line[]) {
  lines.forEach(onLine);
  const kinds = lines.map((line) => line.kind);
  if (kinds.includes("round")) onRounds();
  if (kinds.includes("finished") || kinds.includes("baseline")) onEnd();
  if (kinds.includes("baseline")) publishMeasured();
  showRepeat();
}

function showHint(sentence: string) {
  write(".sv-strange", sentence);
}

function write(selector: string, sentence: string) {
  $(selector).textContent = sentence;
  $(selector).hidden = !sentence;
}

function onRun(run: RunLine) {
  endRace();
  showHint("");
  write(".sv-again", run.again ?? "");
  fresh = true;
  Object.assign(player, { at: { round: 0, step: 0 }, question: null, whatIf: null });
  player.shown = run.file ? "file" : run.source;
  clearTokenStrip();
  if (!job.number || run.source === "recorded") notice("");
  showSource(run);
  sharedRun.set(run);
}

function onRounds() {
  if (fresh) {
    showFirstRound();
    const led = follow();
    if (!led && player.link && waiting()) return; // the round of the link has not arrived yet
    fresh = false;
    player.link = null;
    reserveText();
    showBranch();
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!led) player.at = startOf(calm);
    const races = opening && canRace();
    opening = false;
    paint();
    if (led) reveal();
    else if (!calm && !player.offered && stage.config.served) begin(races);
  } else {
    showDock();
    fitSteps();
    showTimes();
  }
}

/**
 * Let the run begin to move by itself.
 * @param races Whether its time rows race first.
 */
function begin(races: boolean) {
  if (races) race();
  else play(true);
}

// The page opens with the first run, and with nothing else to read.
let opening = !["trace", "lesson", "plan"].some((name) => query.has(name));

// Return the first step to show: the first guesses, not the prefill before them. If nothing may
// move by itself, this is the rejection at which autoplay would have stopped.
function startOf(calm: boolean) {
  const rejected = opening && calm ? firstRejection() : null;
  if (rejected) return { round: rejected[0], step: rejected[1] };
  const drafted = player.rounds.findIndex(
    ({ frames: [first] }) => Object.keys(first.tree.nodes).length,
  );
  return { round: Math.max(0, drafted), step: 0 };
}

// Publish the run's measured point for the Cost tab; null if it has none.
function publishMeasured() {
  const { point } = required(player.baseline);
  const { drafter: name, source, on, where: machine, id, file } = required(player.run);
  const where = on + " · " + machine;
  const run = source === "recorded" && !file ? id : "";
  measured.set(point ? { ...point, name, source, where, run } : null);
}

function onEnd() {
  if (fresh && player.rounds.length) onRounds(); // the run ended before the round of the link
  const { finished } = player;
  if (finished && finished.reason === "stopped" && $(".sv-notice").hidden) notice(STOPPED);
  if (player.rounds.length) showTimes();
}

let asked = 0; // how many runs were asked for; an earlier one that arrives later is not shown

export type Received = { ok: boolean; status: number; text: string };

let ahead: Map<string, Promise<Received>> = new Map(); // runs that a lesson will show

async function receive(name: string): Promise<Received> {
  const answer = await fetch(stage.config.traces + encodeURIComponent(name));
  return { ok: answer.ok, status: answer.status, text: await answer.text() };
}

/**
 * Fetch recorded runs, one after another, and keep them and no others, so that `load` shows them at
 * once. One that cannot be fetched is fetched again by `load`.
 */
export async function fetchAhead(names: string[]) {
  const kept = new Map([...ahead].filter(([name]) => names.includes(name)));
  ahead = kept;
  for (const name of names) {
    if (ahead !== kept) return; // another lesson was opened
    if (!kept.has(name)) kept.set(name, receive(name));
    const received = await kept.get(name)?.catch(() => null);
    if (!received?.ok) kept.delete(name);
  }
}

/** Return the lines of a recorded run, which is not shown. */
export async function recordedLines(name: string): Promise<Line[]> {
  await stage.started;
  const { ok, text } = await (ahead.get(name) ?? receive(name));
  if (!ok) throw new Error(text);
  return parseLines(text);
}

// Show a recorded run, from the step of a link if there is one; return the form's values for the
// same run, or nothing if it cannot be read or another run was asked for or started meanwhile.
export async function load(name: string, link?: Link) {
  const turn = ++asked;
  const { wanted } = job;
  pause();
  const missing = player.run ? "" : missingRunNotice() || hidingProblem();
  const { ok, status, text } = await (ahead.get(name) ?? receive(name));
  if (turn !== asked || job.wanted !== wanted) return;
  if (!ok) return notice("This recorded run could not be read. " + (status === 422 ? text : ""));
  // A link in the page's address is for the first run only.
  if (player.run || link) player.link = link ?? null;
  job.wanted = 0;
  feed(parseLines(text));
  notice(missing);
  return formOf(required(player.run));
}

/** Show a step of a recorded run, and fill in the form for it. */
export async function openMoment({ run, round, step }: Link & { run: string }) {
  if (player.run?.id === run) moveTo({ round, step });
  else if (await load(run, { round, step })) fillForm();
}

const AGAIN = 1000; // ms until a click that came before Gradio listened is repeated
let unfilled = false;

/** Fill in the form for the run on screen, once this run has been painted. */
export function fillForm() {
  unfilled = true;
  const click = () => {
    if (!unfilled) return;
    byId("sv-fill")?.click();
    setTimeout(click, AGAIN);
  };
  requestAnimationFrame(() => setTimeout(click));
}

/** The form's values for the run on screen: its name in the list, if it is there, and the others. */
export function formOnScreen() {
  unfilled = false;
  const run = required(player.run);
  return [player.shown === "recorded" ? run.id : null, ...formOf(run)];
}

let opened = 0; // files so far, which tells their runs apart

/**
 * Shows the run of a visitor's file, or the previous run again if it cannot be drawn.
 * @param file Its name.
 * @returns Whether it is shown.
 */
export function showFile(file: string, lines: Line[]): boolean {
  const before = { lines: [...player.lines], at: player.at, wanted: job.wanted };
  opened += 1;
  const again = `From the file ${file}. The server has checked it and kept nothing.`;
  const own = { source: "recorded" as const, file, id: `file-${opened}`, again };
  asked += 1;
  pause();
  job.wanted = 0;
  player.link = null;
  try {
    feed(lines.map((line) => (line.kind === "run" ? { ...line, ...own } : line)));
    return true;
  } catch {
    job.wanted = before.wanted;
    feed(before.lines);
    go(before.at.round, before.at.step);
    return false;
  }
}

// Return the form's values for this run, in the order of its inputs; lists are returned as text.
export function formOf(run: Pick<RunLine, "prompt" | "names" | "settings">) {
  const { sampling, ...chosen } = { ...stage.config.defaults, ...run.settings };
  const { targets, drafters } = stage.config;
  const target = targets.includes(run.names[0]) ? run.names[0] : targets[0];
  const drafter = drafters.includes(run.names[1]) ? run.names[1] : drafters[0];
  const known: Record<string, unknown> = {
    ...chosen,
    ...Object(sampling),
    prompt: run.prompt,
    target,
    method: drafter,
  };
  return stage.config.form.map(({ name, kind }) => typed(known[name], kind));
}

function typed(value: unknown, kind: string) {
  if (kind === "wholes") return (value as number[]).join(", ");
  if (kind !== "paths") return value;
  const paths = value as number[][];
  return paths.map((path) => path.join(",")).join("; ");
}
