// Elements that show the same thing: a number in the sentence and its bar, a row and its token, a
// guess in the tree and its position in the pass. When one has the pointer or the focus, all are
// highlighted.

import { stage } from "./stage.js";

const BETWEEN = "\n"; // no name has a line end

/**
 * Return attributes with the names of what an element shows; elements with a common name are
 * highlighted together.
 * @param {...string} names
 */
export const linkAttributes = (...names) => ({ "data-link": names.join(BETWEEN) });

/** @type {string[]} */
let lit = [];

/** @param {string[]} names */
export function light(names) {
  if (names.join(BETWEEN) === lit.join(BETWEEN)) return;
  lit = names;
  const common = (/** @type {string} */ own) => own.split(BETWEEN).some((one) => lit.includes(one));
  for (const each of stage.all("[data-link]"))
    each.classList.toggle("sv-lit", common(each.dataset.link ?? ""));
}

// Highlight again after the elements were replaced by a repaint.
export function relight() {
  const names = lit;
  lit = [];
  light(names);
}

/** @param {EventTarget | null} target */
function namesAt(target) {
  const found = target instanceof Element ? target.closest("[data-link]") : null;
  return (found?.getAttribute("data-link") ?? "").split(BETWEEN).filter(Boolean);
}

/** @param {HTMLElement} root */
export function startHoverLinks(root) {
  root.addEventListener("pointerover", (event) => light(namesAt(event.target)));
  root.addEventListener("pointerleave", () => light([]));
  root.addEventListener("focusin", (event) => light(namesAt(event.target)));
  root.addEventListener("focusout", () => light([]));
}
