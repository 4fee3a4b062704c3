// The end of a run: where its time went, and what to do next.

import { byId } from "../shared/dom";
import { fieldOf } from "../shared/gradio";
import { openTab } from "../shared/tabs";

import { AnswerButton, SentencePart } from "./caption";
import { player } from "./state";
import { stage } from "./stage";

import type { Part } from "../../texts/__init__.py";

/** @param times Where the time went. */
export const EndCard = (times: Part[]) => [
  <p class="sv-times-said">{times.map(SentencePart)}</p>,
  WhatNext(),
];

/** Buttons for what to do after a run. */
export function WhatNext() {
  if (!stage.config.served) return null;
  const again = player.run?.source === "recorded" ? "Run it live" : "Run it again";
  return (
    <div class="sv-what-now">
      <b>What next?</b>
      {AnswerButton(again, () => byId("sv-go")?.click())}
      {AnswerButton("Race drafters", () => openTab("Compare"))}
      {AnswerButton("Choose another drafter", chooseDrafter)}
    </div>
  );
}

/** Open the settings at the drafter. */
export function chooseDrafter() {
  if (!document.body.classList.contains("sv-drawer-open"))
    byId("sv-settings")?.querySelector("button")?.click();
  const field = fieldOf("sv-method");
  field?.scrollIntoView({ block: "center" });
  field?.focus();
}
