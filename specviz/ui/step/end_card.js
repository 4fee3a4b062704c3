// The end of a run: where its time went, and what to do next.

import { byId } from "../shared/dom.js";
import { fieldOf } from "../shared/gradio.js";
import { openTab } from "../shared/tabs.js";
import { h } from "../shared/view.js";
import { AnswerButton, SentencePart } from "./caption.js";
import { stage } from "./stage.js";

/** @import { Source } from "../stream.py" */
/** @import { Part } from "../../texts/__init__.py" */

/** @param {Part[]} times Where the time went. @param {Source} source */
export function EndCard(times, source) {
  const again = source === "recorded" ? "Run it live" : "Run it again";
  return [
    h("p", { class: "sv-times-said" }, ...times.map(SentencePart)),
    stage.config.served ? WhatNext(again) : null,
  ];
}

/** @param {string} again */
const WhatNext = (again) =>
  h(
    "div",
    { class: "sv-what-now" },
    h("b", null, "What next?"),
    AnswerButton(again, () => byId("sv-go")?.click()),
    AnswerButton("Race drafters", () => openTab("Compare")),
    AnswerButton("Choose another drafter", chooseDrafter),
  );

function chooseDrafter() {
  if (!document.body.classList.contains("sv-drawer-open"))
    byId("sv-settings")?.querySelector("button")?.click();
  const field = fieldOf("sv-method");
  field?.scrollIntoView({ block: "center" });
  field?.focus();
}
