// The cards of the plans of classes: what happens in which minutes, and the worksheets.

import { isLocal } from "../shared/server";
import { Button, render } from "../shared/view";
import { UNREACHABLE } from "../step/class_vote";
import { recordedLines } from "../step/runs";
import { openVerdicts } from "../step/worksheet";
import { fetchLesson } from "./lesson";
import { startClass } from "./plan";

import type { Line } from "../step/lines.py";
import type { LessonLink, Pages } from "../step/worksheet";
import type { Lesson } from "./lessons.py";
import type { Plan, PlanPart } from "./plans.py";

const SILENT = "The server does not answer, so there are no worksheets now. Try again.";

/** Show the cards of the plans. */
export function showPlans(plans: Plan[], place: HTMLElement, problem = "") {
  const print = (plan: Plan, pages: Pages) =>
    openWorksheets(plan, pages).then(
      () => showPlans(plans, place),
      () => showPlans(plans, place, SILENT),
    );
  render(
    [
      <h3>For teachers: classes with these lessons</h3>,
      <p>
        The page leads through a class: a bar on top opens each part and shows the time. For the
        projector, <b>Present</b> in this bar leaves the run alone and enlarges it. For votes on
        phones (a quiz), <b>Ask the class</b> beside a question opens a room.
      </p>,
      <p>
        <b>
          {isLocal() ? UNREACHABLE : `Phones join at ${location.host}: try it before the class.`}
        </b>
      </p>,
      <p role="alert">{problem}</p>,
      <div class="sv-learn-cards">{plans.map((plan) => Card(plan, print))}</div>,
    ],
    place,
  );
}

const Card = (plan: Plan, print: (plan: Plan, pages: Pages) => void) => {
  const { minutes, title, parts } = plan;
  const link = (label: string, pages: Pages) =>
    Button(label, () => print(plan, pages), {
      class: "sv-link",
      "aria-label": `Worksheets for ${minutes} minutes, ${label}`,
    });
  return (
    <article key={minutes} class="sv-learn-card">
      <h4>{`${minutes} minutes: ${title}`}</h4>
      <ol>{parts.map(Part)}</ol>
      <p>
        {"Worksheets: "}
        {link("blank", "blank")}
        {" · "}
        {link("solutions", "solutions")}
      </p>
      {Button("Start the class", () => startClass(minutes), { class: "sv-button" })}
    </article>
  );
};

const Part = ({ begin, until, what, opens }: PlanPart) => (
  <li key={begin}>
    <b>{`${begin}–${until}`}</b>
    <span>
      {what}
      <small>{opens.flatMap(({ title }) => title ?? []).join(" · ")}</small>
    </span>
  </li>
);

/** The steps of runs that a lesson shows. */
function placesOf({ id, title, steps }: Lesson) {
  const lesson = `Lesson ${Number.parseInt(id, 10)}: ${title}`;
  const places = steps.flatMap(({ place, predict }) => [place, predict?.then]);
  return places.flatMap((place) => (place ? { ...place, lesson } : []));
}

/** Show a page for each verdict that the lessons of a plan show. */
async function openWorksheets({ parts }: Plan, pages: Pages) {
  const ids = parts.flatMap(({ opens }) => opens.flatMap(({ lesson }) => lesson ?? []));
  const lessons = await Promise.all(ids.map((lesson) => fetchLesson(lesson, "en")));
  const shown = lessons.flatMap((lesson) => (lesson.problem === undefined ? placesOf(lesson) : []));
  const runs = [...new Set(shown.map(({ trace }) => trace))].map(
    async (name): Promise<[Line[], LessonLink[]]> => [
      await recordedLines(name),
      shown.filter(({ trace }) => trace === name),
    ],
  );
  openVerdicts(await Promise.all(runs), pages);
}
