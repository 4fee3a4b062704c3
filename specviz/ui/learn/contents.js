// The list of lessons, with the reader's progress.

import { LanguageSwitch, language, phrase } from "../shared/language.js";
import { Stage } from "../shared/stage.js";
import { Button, classes, h, render } from "../shared/view.js";
import { progress } from "./progress.js";

/** @import { ComponentChild } from "preact" */
/** @import { Words } from "../../texts/languages.py" */
/** @import { Start } from "../shared/section.js" */
/** @import { Config } from "./__init__.py" */
/** @import { LessonTitle } from "./lessons.py" */

/** @type {Stage<Config>} */
const stage = new Stage();

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  window.addEventListener("sv-progress", show);
  window.addEventListener("sv-language", show);
  show();
}

function show() {
  const known = progress();
  const lessons = stage.config.lessons[language()];
  const last = lessons.map(({ id }) => Boolean(known[id]?.done)).lastIndexOf(true);
  const groups = [...new Set(lessons.map(({ group }) => group))].map((group) => {
    const entries = lessons.map((lesson, index) =>
      lesson.group === group
        ? Entry(lesson, index, known[lesson.id], last >= 0 && index === last + 1)
        : null,
    );
    return Group(group, entries);
  });
  render(Lead(), stage.$(".sv-learn-lead"));
  render(groups, stage.$(".sv-learn-groups"));
}

/** @param {string} name @param {ComponentChild} entries */
const Group = (name, entries) =>
  h(
    "section",
    { key: name },
    h("h3", { lang: language() }, phrase(/** @type {keyof Words} */ (name))),
    h("ol", { class: "sv-learn-list" }, entries),
  );

function Lead() {
  const [before, article, after] = phrase("article").split(/[[\]]/);
  return [
    h(
      "p",
      { lang: language() },
      phrase("lead") + " " + before,
      h("a", { href: "gradio_api/sv/article" }, article),
      after,
    ),
    LanguageSwitch(),
  ];
}

/**
 * @param {LessonTitle} lesson
 * @param {number} index
 * @param {{ at: number, done: boolean } | undefined} read
 * @param {boolean} follows Whether it follows the last one that was read.
 */
function Entry({ id, title, question, minutes, lang }, index, read, follows) {
  const at = read && !read.done ? read.at : 0;
  const open = () => window.dispatchEvent(new CustomEvent("sv-lesson", { detail: { id, at } }));
  const untranslated = lang !== language() && phrase("untranslated");
  const length = (follows ? phrase("follows") + " · " : "") + phrase("minutes", { minutes });
  const state = read?.done ? phrase("read") : at ? phrase("begun", { at: at + 1 }) : length;
  return h(
    "li",
    { key: id },
    Button(
      [
        h("span", { class: "sv-learn-number" }, index + 1),
        h("span", { class: "sv-learn-what", lang }, h("b", null, title), h("span", null, question)),
        h(
          "span",
          { class: "sv-learn-state", lang: language() },
          read?.done && "✓ ",
          state,
          untranslated && h("span", null, untranslated),
        ),
      ],
      open,
      { class: classes("sv-learn-one", follows && "sv-learn-next"), "data-lesson": id },
    ),
  );
}
