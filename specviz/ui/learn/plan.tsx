// The plan of a class, as a bar above the tabs: its parts, of which one is shown, and a clock. A link
// opens it (?plan=45, or ?plan=45.3 at its third part), and its clock is started by a button.

import { writeAddress } from "../shared/address";
import { tabKey } from "../shared/gradio";
import { isLocal } from "../shared/server";
import { session } from "../shared/storage";
import { classBegun } from "../shared/store";
import { openTab } from "../shared/tabs";
import { Button, render } from "../shared/view";
import { NotesButton, PresentButton } from "../step/present";

import type { Opening, Plan, PlanPart } from "./plans.py";

const KEY = "plan"; // in the page's address
const NEXT = "Next part";
const BEGUN = "sv-plan-begun"; // when a class began, for this visit

// Where students find the page, at the tab of their task, unless only this machine can open it.
const addressOf = ({ opens: [opening] }: PlanPart) =>
  isLocal()
    ? "the address on the board"
    : `${location.origin}${location.pathname}?tab=${opening.tab ? tabKey(opening.tab) : ""}`;

/** What the panel of lessons does for a plan. */
type Panel = {
  place: HTMLElement;
  plans: Plan[];
  open: (lesson: string, at: number) => void;
  close: () => void;
};

let panel: Panel;
/** at: Index of the part that is shown. begun: When the class began, in milliseconds; 0 before. */
let shown: { plan: Plan; at: number; begun: number } | null = null;
let ends = false; // whether the teacher is asked if the class should end

/** Follow the plan in the address, if there is one; a link to a lesson or a tab opens that instead. */
export function startPlans(given: Panel) {
  panel = given;
  setInterval(() => shown && paint(), 1000);
  const query = new URLSearchParams(location.search);
  const [minutes, part] = (query.get(KEY) ?? "").split(".").map(Number);
  if (minutes) begin(minutes, (part || 1) - 1, !query.has("lesson") && !query.has("tab"));
}

/** Open the first part of a plan and start its clock. */
export function startClass(minutes: number) {
  begin(minutes);
  startClock();
}

/** @param opens Whether to open what the part shows. */
function begin(minutes: number, at = 0, opens = true) {
  const plan = panel.plans.find((each) => each.minutes === minutes);
  if (!plan) return;
  const [kept, begun] = (session.get(BEGUN) ?? "").split(" ").map(Number);
  shown = { plan, at: 0, begun: kept === minutes ? begun : 0 };
  document.body.classList.add("sv-in-plan");
  show(Math.min(Math.max(at, 0), plan.parts.length - 1), opens);
}

function startClock() {
  if (!shown) return;
  shown.begun = Date.now();
  session.set(BEGUN, `${shown.plan.minutes} ${shown.begun}`);
  paint();
}

function show(at: number, opens = true) {
  if (!shown) return;
  shown.at = at;
  writeAddress({ [KEY]: `${shown.plan.minutes}.${at + 1}` });
  paint();
  if (opens) open(shown.plan.parts[at].opens[0]);
}

/**
 * What a plan has after a step of a lesson that ends something in the part that is shown: its name
 * on a button, and the function that opens it; null if the plan has nothing to say.
 * @param step The number of the step, of which there are `steps`.
 */
export function planAfter(lesson: string, step: number, steps: number) {
  const { opens = [] } = shown?.plan.parts[shown.at] ?? {};
  const here = opens.findIndex((each) => each.lesson === lesson);
  if (!shown || here < 0 || step < (opens[here].end ?? steps)) return null;
  const { at, plan } = shown;
  if (here + 1 < opens.length) {
    const next = opens[here + 1];
    return { label: `Next: ${next.label}`, go: () => open(next) };
  }
  const isLast = at + 1 === plan.parts.length;
  return isLast ? { label: "Done", go: panel.close } : { label: NEXT, go: () => show(at + 1) };
}

async function open(opening?: Opening) {
  if (opening?.lesson) return panel.open(opening.lesson, opening.at ?? 0);
  panel.close();
  if (!opening?.tab) return;
  await openTab(opening.tab);
  window.scrollTo(0, 0);
}

/** Ask whether the class should end, or no longer. */
function askToEnd(asks: boolean) {
  ends = asks;
  paint();
}

function close() {
  shown = null;
  ends = false;
  session.set(BEGUN);
  document.body.classList.remove("sv-in-plan");
  writeAddress({ [KEY]: null });
  paint();
}

function paint() {
  const begun = shown?.begun ?? 0;
  if (begun !== classBegun.value) classBegun.set(begun);
  panel.place.hidden = !shown;
  render(shown && Bar(shown), panel.place);
}

function Bar({ plan: { minutes, title, parts }, at, begun }: NonNullable<typeof shown>) {
  const { opens, task } = parts[at];
  const [before, after] = task.split("{address}");
  return [
    <ol key="parts" aria-label={`A class of ${minutes} minutes: ${title}`}>
      {parts.map((part, index) => Part(part, index, at))}
    </ol>,
    <span key="opens" class="sv-plan-opens">
      {opens.length > 1 &&
        opens.map((each) => Button(each.label, () => open(each), { class: "sv-link" }))}
    </span>,
    begun
      ? Clock(parts[at], minutes, Date.now() - begun)
      : Button("Start the clock", startClock, { key: "clock", class: "sv-button" }),
    PresentButton("sv-button"),
    NotesButton(),
    Button(NEXT, () => show(at + 1), {
      key: "next",
      class: "sv-button",
      "data-plan": "next",
      disabled: at + 1 === parts.length,
    }),
    EndButtons(Boolean(begun)),
    task && (
      <p key="task" class="sv-plan-task">
        <b>Task</b> {before}
        {after && <b>{addressOf(parts[at])}</b>}
        {after}
      </p>
    ),
  ];
}

// What ends the class is not where the pointer is.
const EndButtons = (isClass: boolean) => (
  <span key="end" class="sv-plan-end" role="group" aria-label="End">
    {ends && Button("End it now", close, { class: "sv-link" })}
    {ends
      ? Button("Keep it", () => askToEnd(false), { class: "sv-link" })
      : Button(
          isClass ? "End the class" : "Close the plan",
          isClass ? () => askToEnd(true) : close,
          { class: "sv-link" },
        )}
  </span>
);

const Part = ({ begin: from, until, what }: PlanPart, index: number, at: number) => (
  <li key={index}>
    {Button([<b>{`${from}–${until}`}</b>, " ", <span>{what}</span>], () => show(index), {
      title: `Minutes ${from} to ${until}: ${what}`,
      "aria-current": index === at ? "step" : undefined,
    })}
  </li>
);

const digits = (number: number) => String(Math.floor(number)).padStart(2, "0");

/** The time since the class began, and by how much it is over the time of the part that is shown. */
function Clock({ until }: PlanPart, minutes: number, elapsed: number) {
  const seconds = Math.max(0, elapsed / 1000);
  const late = Math.floor(seconds / 60 - until);
  return (
    <span key="clock" class="sv-plan-clock" role="timer" aria-label="Time of the class">
      <b>{`${Math.floor(seconds / 60)}:${digits(seconds % 60)}`}</b>
      {` of ${minutes}:00`}
      {late > 0 && `, ${late} min late`}
    </span>
  );
}
