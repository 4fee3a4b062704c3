// Help: what this page is, the tour, keys, and the glossary entries for the open tab.

import { isTyping } from "./dom";
import { GLOSSARY, LINKS } from "./given";
import { explainFocus, titleOf } from "./terms";
import { required } from "./required";
import { tour } from "./store";
import { render } from "./view";

export function startHelp(head: HTMLElement) {
  const found: HTMLDialogElement | null = head.querySelector(".sv-help");
  const dialog = required(found);
  const open = () => {
    showWords(dialog);
    dialog.showModal();
    dialog.scrollTop = 0;
  };
  required(head.querySelector("[data-help=open]")).addEventListener("click", open);
  required(dialog.querySelector("[data-help=close]")).addEventListener("click", () =>
    dialog.close(),
  );
  dialog.querySelector("[data-help=tour]")?.addEventListener("click", () => {
    dialog.close();
    tour.set(true);
  });
  dialog.querySelector("[data-help=article]")?.addEventListener("click", () => {
    location.href = "gradio_api/sv/article";
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.addEventListener("keydown", (event) => {
    if (event.key !== "?" || isTyping(event.target) || dialog.open) return;
    event.preventDefault();
    if (!explainFocus()) open();
  });
}

let served = false; // whether the page is served, so that its addresses open

// List the terms on the open tab first, then the others; both in alphabetical order.
function showWords(dialog: HTMLElement) {
  const shown = new Set();
  for (const word of document.querySelectorAll("[data-term]")) {
    if (word instanceof HTMLElement && word.offsetParent) shown.add(word.dataset.term);
  }
  const terms = Object.keys(GLOSSARY).sort((one, other) =>
    titleOf(one).localeCompare(titleOf(other)),
  );
  served = dialog.querySelector("[data-served]") !== null;
  const here = terms.filter((term) => shown.has(term));
  const others = terms.filter((term) => !shown.has(term));
  required(dialog.querySelector<HTMLElement>(".sv-words-title")).hidden = here.length === 0;
  required(dialog.querySelector<HTMLDetailsElement>(".sv-words-all")).open = here.length === 0;
  render(here.map(GlossaryEntry), required(dialog.querySelector(".sv-words-here")));
  render(others.map(GlossaryEntry), required(dialog.querySelector(".sv-words-others")));
}

const Links = (links: Record<string, string>) =>
  Object.entries(links).map(([title, address], at) => [
    at > 0 && " · ",
    <a href={address}>{title}</a>,
  ]);

const GlossaryEntry = (term: string) => (
  <div key={term}>
    <dt>{titleOf(term)}</dt>
    <dd>
      {GLOSSARY[term]}
      {served && LINKS[term] && <> {Links(LINKS[term])}</>}
    </dd>
  </div>
);
