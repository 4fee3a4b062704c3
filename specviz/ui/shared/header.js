// The head of the page: help, and two switches, each a class of the body: larger text, and dark.
// They are kept for the visit.

import { startCopy } from "./copy.js";
import { startHelp } from "./help.js";
import { tameLists } from "./lists.js";
import { startTerms } from "./terms.js";
import { there } from "./there.js";

// Past the head and the form: to Next on Step, elsewhere to the first control of the open tab.
function skip() {
  const all = ".sv [data-do=next]:enabled, .sv [data-do=back], [role=tabpanel] :is(button, input)";
  /** @type {NodeListOf<HTMLElement>} */
  const found = document.querySelectorAll(all);
  const shown = [...found].filter((each) => each.checkVisibility({ visibilityProperty: true }));
  const next = shown.find((each) => each.matches("[data-do=next]")) ?? shown[0];
  next?.focus();
}

/** @param {HTMLElement} element */
export function start(element) {
  there(element.querySelector(".sv-skip")).addEventListener("click", skip);
  tameLists();
  startTerms();
  startHelp(element);
  startCopy(there(element.querySelector(".sv-copy")));
  /** @type {NodeListOf<HTMLElement>} */
  const buttons = element.querySelectorAll("[data-toggle]");
  for (const button of buttons) {
    const name = there(button.dataset.toggle);
    const show = () =>
      button.setAttribute("aria-pressed", String(document.body.classList.contains(name)));
    const kept = sessionStorage.getItem(name);
    if (kept !== null) document.body.classList.toggle(name, kept === "true");
    show();
    new MutationObserver(show).observe(document.body, {
      attributes: true,
      attributeFilter: ["class"],
    });
    button.addEventListener("click", () => {
      sessionStorage.setItem(name, String(document.body.classList.toggle(name)));
      window.dispatchEvent(new Event("resize"));
    });
  }
}
