// The settings in one sentence, on the button that opens the rest of them.

import { there } from "../shared/there.js";

/** @param {HTMLElement} element */
export function start(element) {
  const button = there(element.querySelector("button"));
  const [drafter, , target, rest] = there(element.querySelector(".sv-said")).children;

  const show = () => {
    button.title = button.textContent.trim();
  };
  show();
  button.addEventListener("sv-said", ({ detail }) => {
    [drafter.textContent, target.textContent, rest.textContent] = detail;
    show();
  });
  button.addEventListener("click", () => {
    const open = document.body.classList.toggle("sv-drawer-open");
    button.setAttribute("aria-expanded", String(open));
  });
}
