// The end of a run: where its time went, and what to do next.

import { byId } from "../shared/dom";
import { fieldOf } from "../shared/gradio";
import { openTab } from "../shared/tabs";

import { AnswerButton, SentencePart } from "./caption";
import { stage } from "./stage";

import type { Source } from "../stream.py";
import type { Part } from "../../texts/__init__.py";

/** @param times Where the time went. */
export function EndCard(times: Part[], source: Source) {
  const again = source === "recorded" ? "Run it live" : "Run it again";
  return [
    <p class="sv-times-said">{times.map(SentencePart)}</p>,
    stage.config.served ? WhatNext(again) : null,
  ];
}

const WhatNext = (again: string) => (
  <div class="sv-what-now">
    <b>What next?</b>
    {AnswerButton(again, () => byId("sv-go")?.click())}
    {AnswerButton("Race drafters", () => openTab("Compare"))}
    {AnswerButton("Choose another drafter", chooseDrafter)}
  </div>
);

function chooseDrafter() {
  if (!document.body.classList.contains("sv-drawer-open"))
    byId("sv-settings")?.querySelector("button")?.click();
  const field = fieldOf("sv-method");
  field?.scrollIntoView({ block: "center" });
  field?.focus();
}
