// The list of lessons, with the reader's progress.

import { LANGUAGES } from "../shared/given.js";
import { catalogue, LanguageSwitch, language, phrase } from "../shared/language.js";
import { Stage } from "../shared/stage.js";
import { Button, classes, h, render } from "../shared/view.js";
import { progress } from "./progress.js";

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
  const entries = lessons.map((lesson, index) =>
    Entry(lesson, index, known[lesson.id], last >= 0 && index === last + 1),
  );
  render(Lead(), stage.$(".sv-learn-lead"));
  render(entries, stage.$(".sv-learn-list"));
}

function Lead() {
  const [before, article, after] = phrase("article").split(/[[\]]/);
  const notes = Object.values(LANGUAGES).map((each) => each.english_note);
  return [
    h(
      "p",
      { lang: language() },
      phrase("lead") + " " + before,
      h("a", { href: "gradio_api/sv/article" }, article),
      after,
    ),
    LanguageSwitch(undefined, catalogue().note || notes.filter(Boolean).join(" ")),
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
