// The list of lessons, with the reader's progress.

import { LanguageSwitch, language, phrase } from "../shared/language";
import { progress, reached } from "../shared/progress";
import { Stage } from "../shared/stage";
import { Button, classes, render } from "../shared/view";
import { open as openLesson } from "./panel";
import { showPlans } from "./plan_card";

import type { ComponentChild } from "preact";
import type { Words } from "../../texts/languages.py";
import type { Start } from "../shared/section";
import type { Config } from "./__init__.py";
import type { LessonTitle } from "./lessons.py";

const stage: Stage<Config> = new Stage();

export const start: Start<Config> = (element, props, _watch, _trigger, config) => {
  stage.set(element, props, config);
  progress.on(show);
  language.on(show);
  show();
};

function show() {
  const lessons = stage.config.lessons[language.value];
  const last = lessons.map(({ id }) => Boolean(reached(id)?.done)).lastIndexOf(true);
  const groups = [...new Set(lessons.map(({ group }) => group))].map((group) => {
    const entries = lessons.map((lesson, index) =>
      lesson.group === group ? Entry(lesson, last >= 0 && index === last + 1) : null,
    );
    return Group(group, entries);
  });
  render(Lead(), stage.$(".sv-learn-lead"));
  render(groups, stage.$(".sv-learn-groups"));
  const { plans } = stage.config;
  if (plans.length) showPlans(plans, stage.$(".sv-learn-plans"));
}

const Group = (name: string, entries: ComponentChild) => (
  <section key={name}>
    <h3 lang={language.value}>{phrase(name as keyof Words)}</h3>
    <ol class="sv-learn-list">{entries}</ol>
  </section>
);

function Lead() {
  const [, article, about] = phrase("article").split(/[[\]]/);
  return [
    <p lang={language.value}>{phrase("lead")}</p>,
    <a class="sv-learn-article" href="gradio_api/sv/article" lang={language.value}>
      <b>{article}</b>
      {about}
    </a>,
    LanguageSwitch(),
    stage.config.plans.length > 0 && ToPlans(),
  ];
}

const ToPlans = () =>
  Button("For teachers: plans of classes, with worksheets", toPlans, {
    class: "sv-link",
    lang: "en",
  });

const toPlans = () => stage.$(".sv-learn-plans").scrollIntoView();

/** @param follows Whether it follows the last one that was read. */
function Entry({ id, title, question, minutes, lang }: LessonTitle, follows: boolean) {
  const read = reached(id);
  const at = read && !read.done ? read.at : 0;
  const open = () => openLesson(id, at);
  const untranslated = lang !== language.value && phrase("untranslated");
  const length = (follows ? phrase("follows") + " · " : "") + phrase("minutes", { minutes });
  const state = read?.done ? phrase("read") : at ? phrase("begun", { at: at + 1 }) : length;
  return (
    <li key={id}>
      {Button(
        [
          <span class="sv-learn-number">{Number.parseInt(id, 10)}</span>,
          <span class="sv-learn-what" lang={lang}>
            <b>{title}</b>
            <span>{question}</span>
          </span>,
          <span class="sv-learn-state" lang={language.value}>
            {read?.done && "✓ "}
            {state}
            {untranslated && <span>{untranslated}</span>}
          </span>,
        ],
        open,
        { class: classes("sv-learn-one", follows && "sv-learn-next"), "data-lesson": id },
      )}
    </li>
  );
}
