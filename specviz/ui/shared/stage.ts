// A section's element, its value, its events and its config from Python. Each section is on the
// page once, so its modules share one stage, which is empty until the section starts.

import { required } from "./required";

import type { Props } from "./section";

function found<Kind extends HTMLElement>(within: HTMLElement, selector: string): Kind {
  const element: Kind | null = within.querySelector(selector);
  return required(element);
}

/** @typeParam Config The section's config from Python. */
export class Stage<Config> {
  #begin: () => void = () => {};
  #set: { element: HTMLElement; props: Props; config: Config & { name: string } } | null = null;

  /** Resolved when the section has started. */
  started: Promise<void>;

  $: <Kind extends HTMLElement = HTMLElement>(selector: string) => Kind;

  constructor() {
    /** Return an element of the section's template; the caller declares its type. */
    this.$ = (selector) => found(this.element, selector);
    this.started = new Promise((begin) => {
      this.#begin = begin;
    });
  }

  set(element: HTMLElement, props: Props, config: Config & { name: string }) {
    this.#set = { element, props, config };
    this.#begin();
  }

  /** Return all elements that match. */
  all<Kind extends HTMLElement = HTMLElement>(selector: string): Kind[] {
    const found: NodeListOf<Kind> = this.element.querySelectorAll(selector);
    return [...found];
  }

  /** Return an element that may not exist. */
  find(selector: string): HTMLElement | null {
    return this.element.querySelector(selector);
  }

  /** Call a function with every value chosen in a list. */
  onChoice(selector: string, choose: (value: string) => void) {
    const list: HTMLSelectElement = this.$(selector);
    list.addEventListener("change", () => choose(list.value));
  }

  get element() {
    return required(this.#set).element;
  }

  get props() {
    return required(this.#set).props;
  }

  get config() {
    return required(this.#set).config;
  }
}
