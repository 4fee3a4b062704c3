// The parts of the tab that can be opened. A closed part shows its heading and an answer in one
// sentence; it sends no questions and draws nothing. Links can open a part: by the id of an element
// in it (#), by the key `part`, or by a key that belongs to the part.

import { linkedText, note } from "./address.js";

const FIRST = "formula"; // open from the start
/** @type {Part[]} */
const parts = [];

/** @param {Element | null} inside */
const partOf = (inside) => parts.find(({ details }) => inside && details.contains(inside));

// For printing, fill the parts that were opened before; the others print their sentence.
window.addEventListener("beforeprint", () => {
  for (const part of parts) part.print(true);
});
window.addEventListener("afterprint", () => {
  for (const part of parts) part.print(false);
});

// Open the part that contains an element, scroll to the element and focus it.
/** @param {HTMLElement} element @param {ScrollLogicalPosition} [block] */
export function reveal(element, block = "start") {
  partOf(element)?.show();
  element.tabIndex = -1;
  element.focus({ preventScroll: true });
  element.scrollIntoView({ block });
}

export class Part {
  #changed = true; // since the part last asked the server
  #begun = false; // the part was open before
  #printed = false; // the part is open only for printing

  /**
   * @param {HTMLDetailsElement} details
   * @param {() => void} update Asks for what the part shows, and draws it.
   * @param {string[]} [keys] Keys of the address that belong to it.
   */
  constructor(details, update, keys = []) {
    this.details = details;
    this.update = update;
    this.name = details.dataset.part ?? "";
    parts.push(this);
    const named = (linkedText("part") ?? "").split(" ").includes(this.name);
    const linked = keys.some((key) => linkedText(key) !== null);
    const id = location.hash.slice(1);
    /** @type {HTMLElement | null} */
    const inside = id ? details.querySelector("#" + CSS.escape(id)) : null;
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

  /** @param {boolean} begins */
  print(begins) {
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
