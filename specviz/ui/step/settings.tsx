// The settings in one sentence, on the button that opens them, above a run and above a race. The
// component's value is the sentence in its parts, as JSON: see `SettingsWords` in form.py.

import { byId } from "../shared/dom";
import { fieldOf, onEscape } from "../shared/gradio";
import { pictures } from "../shared/picture";
import { required } from "../shared/required";
import { run } from "../shared/store";
import { InlineFacts, render } from "../shared/view";
import { forgetEnd } from "./live";
import { stage } from "./stage";
import { player } from "./state";

import type { Start } from "../shared/section";
import type { SettingsWords } from "./form.py";

type Config = { drawer: string };

let lastForm = "";

export const start: Start<Config> = (element, props, watch, _trigger, { name, drawer }) => {
  const ofRun = name === "sv-settings"; // not of a race
  // Python wrote the first sentence, which remains until the form changes.
  const first = [...element.querySelectorAll(".sv-said > *")].map((each) => each.textContent);
  const [drafter, joined, target, rest] = first;
  const told = required(required(element.querySelector(".sv-about-target")).textContent);
  let words: SettingsWords = { drafter, joined, target, rest, about: told };
  let open = false;
  const about = aboutTarget();
  const show = () => {
    const prompt = fieldOf("sv-prompt");
    const full = prompt && prompt.value.length === prompt.maxLength;
    about.textContent = full
      ? `Nothing fits after these ${prompt.maxLength} characters.`
      : words.about;
    const same = !ofRun || isShown(words);
    if (ofRun) document.body.classList.toggle("sv-differs", !same);
    if (ofRun) tellUnrun(!same);
    if (ofRun) forgetProblem(!same, words);
    render(SettingsButton(words, same, { drawer, open, onClick: toggle }), element);
  };
  const toggle = () => {
    open = document.body.classList.toggle(drawer + "-open");
    if (ofRun) offerPicture(() => words.drafter);
    show();
  };
  show();
  const button = required(element.querySelector("button"));
  onEscape(() => {
    if (!open || !element.offsetParent) return;
    toggle();
    button.focus();
  });
  watch("value", () => {
    words = JSON.parse(props.value ?? "");
    show();
  });
  if (!ofRun) return undefined;
  fieldOf("sv-prompt")?.closest("label")?.append(about);
  run.on(show);
  // The form is updated for a recorded run shortly after the run is shown.
  document.addEventListener("input", () => setTimeout(show));
  return {
    /** The prompt has changed. */
    show: () => setTimeout(show),
  };
};

/** Say above the run on screen that it is not a run of the settings in the form. */
function tellUnrun(unrun: boolean) {
  const line = document.querySelector("#sv-step .sv-unrun") as HTMLElement | null;
  line?.classList.toggle("sv-dims", unrun && canAsk());
  if (!line || line.hidden !== unrun) return;
  line.hidden = !unrun;
  line.textContent = unrun ? "These settings have not been run yet. Press Run live." : "";
}

/** Notice whether the form asks for something else than before. */
function forgetProblem(unrun: boolean, words: SettingsWords) {
  const form = [fieldOf("sv-prompt")?.value, ...Object.values(words)].join("\n");
  if (unrun && form !== lastForm) forgetEnd();
  lastForm = form;
}

/** Return whether the form can ask for the run on screen; for other runs, it never agrees with it. */
function canAsk() {
  const [target, drafter] = required(player.run).names;
  return stage.config.targets.includes(target) && stage.config.drafters.includes(drafter);
}

/** Return a line about the target below the prompt's text; it is shown while one types. */
function aboutTarget() {
  const line = document.createElement("small");
  line.className = "sv-about-target";
  return line;
}

// Below the drafter's card, buttons that save it; they are added when the settings are first opened.
function offerPicture(drafter: () => string) {
  const how = byId("sv-how");
  if (!how || how.querySelector(".sv-pictures")) return;
  const card = (): HTMLElement | null => how.querySelector("[data-drafter]:not([hidden])");
  const about = () => ({ file: card()?.dataset.drafter ?? "", facts: [drafter()] });
  how.append(pictures(about, [["diagram", card]]));
}

// Return whether the form's values are those of the run on screen.
function isShown({ drafter, target, rest }: SettingsWords) {
  const { run } = player;
  if (!run) return true;
  const settings = run.summary.map(([, words]) => " · " + words).join("");
  const prompt = fieldOf("sv-prompt")?.value ?? run.prompt;
  return run.drafter === drafter && run.on === target && settings === rest && run.prompt === prompt;
}

function SettingsButton(
  { drafter, joined, target, rest }: SettingsWords,
  same: boolean,
  { drawer, open, onClick }: { drawer: string; open: boolean; onClick: () => void },
) {
  const words = drafter + joined + target + rest;
  const attributes = {
    type: "button" as const,
    "aria-expanded": open,
    "aria-controls": drawer,
    title: same ? words : words + ". This is not the run shown; press Run live to make it.",
    onClick,
  };
  return (
    <button {...attributes}>
      <span class="sv-said">
        <b>{drafter}</b>
        <span>{joined}</span>
        <b>{target}</b>
        {InlineFacts(rest)}
      </span>
      <span class="sv-differs-said" hidden={same}>
        not run yet
      </span>
      <svg viewBox="0 0 10 10" aria-hidden="true">
        <path d="M1.5 3 5 6.8 8.5 3" />
      </svg>
    </button>
  );
}
