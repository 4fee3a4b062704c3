// Two switches of the page, each a class of the body: larger text, and dark. Kept for the visit.

import { tameLists } from "./lists.js";

export function start(element) {
  tameLists();
  for (const button of element.querySelectorAll("[data-toggle]")) {
    const name = button.dataset.toggle;
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
