// The parts of the tab that can be opened. A closed part shows its heading and an answer in one
// sentence; it sends no questions and draws nothing. Links can open a part: by the id of an element
// in it (#), by the key `part`, or by a key that belongs to the part.

import { linkedText, note } from "./address";

const FIRST = "formula"; // open from the start
const parts: Part[] = [];

const partOf = (inside: Element | null) =>
  parts.find(({ details }) => inside && details.contains(inside));

// For printing, fill the parts that were opened before; the others print their sentence.
window.addEventListener("beforeprint", () => {
  for (const part of parts) part.print(true);
});
window.addEventListener("afterprint", () => {
  for (const part of parts) part.print(false);
});

// Open the part that contains an element, scroll to the element and focus it.
export function reveal(element: HTMLElement, block: ScrollLogicalPosition = "start") {
  partOf(element)?.show();
  element.tabIndex = -1;
  element.focus({ preventScroll: true });
  element.scrollIntoView({ block });
}

export class Part {
  #changed = true; // since the part last asked the server
  #begun = false; // the part was open before
  #printed = false; // the part is open only for printing

  details: HTMLDetailsElement;
  update: () => void;
  name: string;

  /**
   * @param update Asks for what the part shows, and draws it.
   * @param keys Keys of the address that belong to it.
   */
  constructor(details: HTMLDetailsElement, update: () => void, keys: string[] = []) {
    this.details = details;
    this.update = update;
    this.name = details.dataset.part ?? "";
    parts.push(this);
    const named = (linkedText("part") ?? "").split(" ").includes(this.name);
    const linked = keys.some((key) => linkedText(key) !== null);
    const id = location.hash.slice(1);
    const inside: HTMLElement | null = id ? details.querySelector("#" + CSS.escape(id)) : null;
    if (named || linked || inside) details.open = true;
    if (inside) requestAnimationFrame(() => reveal(inside));
    details.addEventListener("toggle", () => this.#toggled());
    if (details.open) queueMicrotask(() => this.#toggled());
  }

  get open() {
    return this.details.open;
  }

  show() {
    this.details.open = true;
  }

  // The values have changed, so the part must ask again.
  changed() {
    this.#changed = true;
    if (this.open) this.#refresh();
  }

  print(begins: boolean) {
    if (begins) this.#printed = this.#begun && !this.open;
    if (this.#printed) this.details.open = begins;
  }

  #toggled() {
    const open = parts.filter((part) => part.open).map(({ name }) => name);
    note("parts", { part: open.join(" ") === FIRST ? null : open.join(" ") });
    if (this.open) this.#refresh();
  }

  #refresh() {
    this.#begun = true;
    if (!this.#changed) return this.redraw();
    this.#changed = false;
    this.update();
  }

  /** Set by the section: draw what it has, for another width or theme. */
  redraw = () => {};
}
