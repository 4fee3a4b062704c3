// Elements that show the same thing: a number in the sentence and its bar, a row and its token, a
// guess in the tree and its position in the pass. When one has the pointer or the focus, all are
// highlighted.

import { stage } from "./stage";

const BETWEEN = "\n"; // no name has a line end

/**
 * Return attributes with the names of what an element shows; elements with a common name are
 * highlighted together.
 */
export const linkAttributes = (...names: string[]) => ({ "data-link": names.join(BETWEEN) });

let lit: string[] = [];

export function light(names: string[]) {
  if (names.join(BETWEEN) === lit.join(BETWEEN)) return;
  lit = names;
  const common = (own: string) => own.split(BETWEEN).some((one) => lit.includes(one));
  for (const each of stage.all("[data-link]"))
    each.classList.toggle("sv-lit", common(each.dataset.link ?? ""));
}

// Highlight again after the elements were replaced by a repaint.
export function relight() {
  const names = lit;
  lit = [];
  light(names);
}

function namesAt(target: EventTarget | null) {
  const found = target instanceof Element ? target.closest("[data-link]") : null;
  return (found?.getAttribute("data-link") ?? "").split(BETWEEN).filter(Boolean);
}

export function startHoverLinks(root: HTMLElement) {
  root.addEventListener("pointerover", (event) => light(namesAt(event.target)));
  root.addEventListener("pointerleave", () => light([]));
  root.addEventListener("focusin", (event) => light(namesAt(event.target)));
  root.addEventListener("focusout", () => light([]));
}
