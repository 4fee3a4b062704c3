// The list of lessons, with what has been read.

import { Stage } from "../shared/stage.js";
import { Button, h, render } from "../shared/view.js";
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
  show();
}

function show() {
  const known = progress();
  const entries = stage.config.lessons.map((lesson, index) =>
    Entry(lesson, index, known[lesson.id]),
  );
  render(entries, stage.$(".sv-learn-list"));
}

/**
 * @param {LessonTitle} lesson
 * @param {number} index
 * @param {{ at: number, done: boolean } | undefined} read
 */
function Entry({ id, title, question, minutes }, index, read) {
  const at = read && !read.done ? read.at : 0;
  const open = () => window.dispatchEvent(new CustomEvent("sv-lesson", { detail: { id, at } }));
  const state = read?.done ? "read" : at ? `begun: step ${at + 1}` : `${minutes} minutes`;
  return h(
    "li",
    { key: id },
    Button(
      [
        h("span", { class: "sv-learn-number" }, index + 1),
        h("span", { class: "sv-learn-what" }, h("b", null, title), h("span", null, question)),
        h("span", { class: "sv-learn-state" }, read?.done && "✓ ", state),
      ],
      open,
      { class: "sv-learn-one", "data-lesson": id },
    ),
  );
}
