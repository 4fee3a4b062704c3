// The settings in one sentence, on the button that opens the rest of them.

import { fieldOf } from "../shared/gradio.js";
import { there } from "../shared/there.js";
import { reel } from "./reel.js";

/** @param {HTMLElement} element */
export function start(element) {
  const button = there(element.querySelector("button"));
  const [drafter, , target, rest] = there(element.querySelector(".sv-said")).children;

  /** @type {HTMLElement | null} */
  const told = element.querySelector(".sv-differs-said");
  // Whether the form asks for another run than the one on screen.
  const show = () => {
    const { run } = reel;
    const form = [drafter, target, rest].map((each) => each.textContent);
    const same =
      !run ||
      (run.drafter === form[0] &&
        run.on === form[1] &&
        run.said.map(([, words]) => " · " + words).join("") === form[2] &&
        (fieldOf("sv-prompt")?.value ?? run.prompt) === run.prompt);
    document.body.classList.toggle("sv-differs", !same);
    if (told) told.hidden = same;
    const said = form[0] + " drafts for " + form[1] + form[2];
    button.title = same ? said : said + ". This is not the run shown; press Run live to make it.";
  };
  show();
  button.addEventListener("sv-said", ({ detail }) => {
    [drafter.textContent, target.textContent, rest.textContent] = detail;
    show();
  });
  window.addEventListener("sv-run", show);
  // The form follows a recorded run a moment later than the run is shown.
  document.addEventListener("input", () => setTimeout(show));
  new MutationObserver(show).observe(rest, { childList: true, characterData: true });
  button.addEventListener("click", () => {
    const open = document.body.classList.toggle("sv-drawer-open");
    button.setAttribute("aria-expanded", String(open));
  });
}
