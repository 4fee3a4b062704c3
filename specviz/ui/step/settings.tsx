// The settings in one sentence, on the button that opens the settings.

import { byId } from "../shared/dom";
import { fieldOf, onEscape } from "../shared/gradio";
import { pictures } from "../shared/picture";
import { required } from "../shared/required";
import { run } from "../shared/store";
import { InlineFacts, render } from "../shared/view";
import { player } from "./state";

export type Sentence = { drafter: string; target: string; rest: string; open: boolean };

export function start(element: HTMLElement) {
  // Python wrote the first sentence, which remains until the form changes.
  const words = [...element.querySelectorAll(".sv-said > *")].map((each) => each.textContent);
  const state = { drafter: words[0], target: words[2], rest: words[3], open: false };
  const about = aboutTarget(required(element.querySelector(".sv-about-target")).textContent);
  const show = () => {
    const same = isShown(state);
    document.body.classList.toggle("sv-differs", !same);
    tellUnrun(!same);
    render(SettingsButton(state, same, toggle), element);
  };
  const toggle = () => {
    state.open = document.body.classList.toggle("sv-drawer-open");
    offerPicture(state);
    show();
  };
  show();
  const button = required(element.querySelector("button"));
  onEscape(() => {
    if (!state.open || !element.offsetParent) return;
    toggle();
    button.focus();
  });
  run.on(show);
  // The form is updated for a recorded run shortly after the run is shown.
  document.addEventListener("input", () => setTimeout(show));
  return {
    /** Show the settings of the form in words; `target` is about it. */
    say(words: Omit<Sentence, "open">, target: string) {
      Object.assign(state, words);
      about.textContent = target;
      show();
    },
    /** The prompt has changed. */
    show: () => setTimeout(show),
  };
}

/** Say above the run on screen that it is not a run of the settings in the form. */
function tellUnrun(unrun: boolean) {
  const line = document.querySelector("#sv-step .sv-unrun") as HTMLElement | null;
  if (!line || line.hidden !== unrun) return;
  line.hidden = !unrun;
  line.textContent = unrun ? "These settings have not been run yet. Press Run live." : "";
}

/** Add a line about the target to the prompt, below its text; it is shown while one types. */
function aboutTarget(text: string) {
  const line = document.createElement("small");
  line.className = "sv-about-target";
  line.textContent = text;
  fieldOf("sv-prompt")?.closest("label")?.append(line);
  return line;
}

// Below the drafter's card, buttons that save it; they are added when the settings are first opened.
function offerPicture(state: Sentence) {
  const how = byId("sv-how");
  if (!how || how.querySelector(".sv-pictures")) return;
  const card = (): HTMLElement | null => how.querySelector("[data-drafter]:not([hidden])");
  const about = () => ({ file: card()?.dataset.drafter ?? "", facts: [state.drafter] });
  how.append(pictures(about, [["diagram", card]]));
}

// Return whether the form's values are those of the run on screen.
function isShown({ drafter, target, rest }: Sentence) {
  const { run } = player;
  if (!run) return true;
  const settings = run.summary.map(([, words]) => " · " + words).join("");
  const prompt = fieldOf("sv-prompt")?.value ?? run.prompt;
  return run.drafter === drafter && run.on === target && settings === rest && run.prompt === prompt;
}

function SettingsButton(
  { drafter, target, rest, open }: Sentence,
  same: boolean,
  onClick: () => void,
) {
  const words = drafter + " drafts for " + target + rest;
  const attributes = {
    type: "button" as const,
    "aria-expanded": open,
    "aria-controls": "sv-drawer",
    title: same ? words : words + ". This is not the run shown; press Run live to make it.",
    onClick,
  };
  return (
    <button {...attributes}>
      <span class="sv-said">
        <b>{drafter}</b>
        <span>{" drafts for "}</span>
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
