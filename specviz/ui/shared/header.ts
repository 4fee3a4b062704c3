// The head of the page: help, and two switches for larger text and for the dark theme. Each sets a
// class of the body, which is kept for this visit.

import { startCopy } from "./copy";
import { startHelp } from "./help";
import { hideControls } from "./hidden";
import { tameLists } from "./lists";
import { onBodyClass } from "./page";
import { session } from "./storage";
import { startTerms } from "./terms";
import { required } from "./required";

// Skip the head and the form: focus Next on Step, or the first control of another tab.
function skip() {
  const all = ".sv [data-do=next]:enabled, .sv [data-do=back], [role=tabpanel] :is(button, input)";
  const found: NodeListOf<HTMLElement> = document.querySelectorAll(all);
  const shown = [...found].filter((each) => each.checkVisibility({ visibilityProperty: true }));
  const next = shown.find((each) => each.matches("[data-do=next]")) ?? shown[0];
  next?.focus();
}

export function start(element: HTMLElement) {
  required(element.querySelector(".sv-skip")).addEventListener("click", skip);
  hideControls();
  tameLists();
  startTerms();
  startHelp(element);
  const link = element.querySelector(".sv-copy"); // not in a file that replays a run
  if (link) startCopy(link);
  const buttons: NodeListOf<HTMLElement> = element.querySelectorAll("[data-toggle]");
  const { classList } = document.body;
  const show = () => {
    for (const button of buttons)
      button.setAttribute("aria-pressed", String(classList.contains(nameOf(button))));
  };
  for (const button of buttons) {
    const name = nameOf(button);
    const kept = session.get(name);
    if (kept !== null) classList.toggle(name, kept === "true");
    button.addEventListener("click", () => {
      session.set(name, String(classList.toggle(name)));
      window.dispatchEvent(new Event("resize"));
    });
  }
  show();
  onBodyClass(show); // Gradio can also make the page dark
}

const nameOf = (button: HTMLElement) => required(button.dataset.toggle);
