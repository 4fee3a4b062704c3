// The link to what is on screen, copied: each tab keeps its own place in the page's address, or puts
// it there when it hears "sv-link".

import { el } from "./dom.js";
import { there } from "./there.js";

const WHILE = 1600; // ms that the button says what it did

/** @param {Element} button */
export function startCopy(button) {
  const word = there(button.querySelector("span"));
  const usual = word.textContent;
  button.addEventListener("click", async () => {
    const detail = { problem: "" }; // set by the tab that is open if no link leads to it
    window.dispatchEvent(new CustomEvent("sv-link", { detail }));
    word.textContent =
      detail.problem || ((await copied(location.href)) ? "Link copied" : "Copy the address above");
    button.classList.add("sv-said-so");
    setTimeout(() => {
      word.textContent = usual;
      button.classList.remove("sv-said-so");
    }, WHILE);
  });
}

/**
 * A button that copies a text.
 * @param {string} name Names the text for screen readers.
 * @param {string} text
 */
export function copyButton(name, text) {
  const made = el("button", "sv-link sv-copy-text", "Copy");
  made.type = "button";
  made.setAttribute("aria-label", "Copy " + name);
  made.addEventListener("click", async () => {
    made.textContent = (await copied(text)) ? "Copied" : "Select it and copy";
    setTimeout(() => {
      made.textContent = "Copy";
    }, WHILE);
  });
  return made;
}

// A page in a frame, or one that is not served safely, may not write to the clipboard.
/** @param {string} text */
const copied = (text) =>
  navigator.clipboard
    ? navigator.clipboard.writeText(text).then(
        () => true,
        () => false,
      )
    : Promise.resolve(false);
