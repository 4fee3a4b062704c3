// A section's element, its value, its events and its config from Python. Each section is on the
// page once, so its modules share one stage, which is empty until the section starts.

import { there } from "./there.js";

/** @import { Props } from "./section.js" */

/**
 * @template {HTMLElement} Kind
 * @param {HTMLElement} within
 * @param {string} selector
 * @returns {Kind}
 */
function found(within, selector) {
  /** @type {Kind | null} */
  const element = within.querySelector(selector);
  return there(element);
}

/** @template Config The section's config from Python. */
export class Stage {
  /** @type {{ element: HTMLElement, props: Props, config: Config & { name: string } } | null} */
  #set = null;

  constructor() {
    /**
     * Return an element of the section's template; the caller declares its type.
     * @type {<Kind extends HTMLElement = HTMLElement>(selector: string) => Kind}
     */
    this.$ = (selector) => found(this.element, selector);
  }

  /** @param {HTMLElement} element @param {Props} props @param {Config & { name: string }} config */
  set(element, props, config) {
    this.#set = { element, props, config };
  }

  /**
   * Return all elements that match.
   * @template {HTMLElement} [Kind=HTMLElement]
   * @param {string} selector
   * @returns {Kind[]}
   */
  all(selector) {
    /** @type {NodeListOf<Kind>} */
    const found = this.element.querySelectorAll(selector);
    return [...found];
  }

  /**
   * Return an element that may not exist.
   * @param {string} selector
   * @returns {HTMLElement | null}
   */
  find(selector) {
    return this.element.querySelector(selector);
  }

  /** Call a function with every value chosen in a list. @param {string} selector @param {(value: string) => void} choose */
  onChoice(selector, choose) {
    /** @type {HTMLSelectElement} */
    const list = this.$(selector);
    list.addEventListener("change", () => choose(list.value));
  }

  get element() {
    return there(this.#set).element;
  }

  get props() {
    return there(this.#set).props;
  }

  get config() {
    return there(this.#set).config;
  }
}
