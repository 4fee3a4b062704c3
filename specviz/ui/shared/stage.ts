// A section's element, its value, its events and its config from Python. Each section is on the
// page once, so its modules share one stage, which is empty until the section starts.

import { required } from "./required";

import type { Props } from "./section";

/** @typeParam Config The section's config from Python. */
export class Stage<Config> {
  #begin = () => {};
  #set: { element: HTMLElement; props: Props; config: Config & { name: string } } | null = null;

  /** Resolved when the section has started. */
  started: Promise<void> = new Promise((begin) => {
    this.#begin = begin;
  });

  /** Return an element of the section's template; the caller declares its type. */
  $ = <Kind extends HTMLElement = HTMLElement>(selector: string) =>
    required(this.element.querySelector<Kind>(selector));

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
