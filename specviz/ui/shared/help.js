// Help: what this page is, the tour, keys, and the glossary entries for the open tab.

import { GLOSSARY } from "./given.js";
import { explainFocus, titleOf } from "./terms.js";
import { there } from "./there.js";
import { h, render } from "./view.js";

/** @param {HTMLElement} head */
export function startHelp(head) {
  /** @type {HTMLDialogElement | null} */
  const found = head.querySelector(".sv-help");
  const dialog = there(found);
  const open = () => {
    showWords(dialog);
    dialog.showModal();
    dialog.scrollTop = 0;
  };
  there(head.querySelector("[data-help=open]")).addEventListener("click", open);
  there(dialog.querySelector("[data-help=close]")).addEventListener("click", () => dialog.close());
  dialog.querySelector("[data-help=tour]")?.addEventListener("click", () => {
    dialog.close();
    window.dispatchEvent(new Event("sv-tour"));
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.addEventListener("keydown", (event) => {
    if (event.key !== "?" || typing(event.target) || dialog.open) return;
    event.preventDefault();
    if (!explainFocus()) open();
  });
}

/** @param {EventTarget | null} target */
function typing(target) {
  const fields =
    "input:not([type=range], [type=checkbox], [type=radio]), textarea, [contenteditable]";
  return target instanceof Element && target.closest(fields) !== null;
}

// List the terms on the open tab first, then the others; both in alphabetical order.
/** @param {HTMLElement} dialog */
function showWords(dialog) {
  const shown = new Set();
  for (const word of document.querySelectorAll("[data-term]")) {
    if (word instanceof HTMLElement && word.offsetParent) shown.add(word.dataset.term);
  }
  const terms = Object.keys(GLOSSARY).sort((one, other) =>
    titleOf(one).localeCompare(titleOf(other)),
  );
  const here = terms.filter((term) => shown.has(term));
  const others = terms.filter((term) => !shown.has(term));
  render(here.map(GlossaryEntry), there(dialog.querySelector(".sv-words-here")));
  render(others.map(GlossaryEntry), there(dialog.querySelector(".sv-words-others")));
}

/** @param {string} term */
const GlossaryEntry = (term) =>
  h("div", { key: term }, h("dt", null, titleOf(term)), h("dd", null, GLOSSARY[term]));
