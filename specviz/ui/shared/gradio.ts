// Assumptions of the page's scripts about the elements that Gradio draws, which it does not
// document. Styles of these elements are in 15-gradio.css; `early.ts` is separate, since it runs
// before any module. If an element is not found, the result is null: the page continues without it,
// and the console reports it once.

import type { Trigger } from "./section";

const warned: Set<string> = new Set();

function warnOnce(sentence: string) {
  if (warned.has(sentence)) return;
  warned.add(sentence);
  console.warn("specviz: " + sentence);
}

// The lists of a Dropdown, and the row of tabs: elements with these roles.
export const LIST = "[role=listbox]";
export const TAB = "[role=tab]";

// The field of a Textbox. If it is not found, an instrument does not answer to pasted text.
export const TEXT_BOX = "[data-testid=textbox]";

// Return the input element in the component with this id. If it is not found, nothing is read from
// it, and it cannot be focused.
export function fieldOf(id: string): HTMLInputElement | HTMLTextAreaElement | null {
  const component = document.getElementById(id);
  const field: HTMLInputElement | HTMLTextAreaElement | null =
    component?.querySelector("textarea, input") ?? null;
  if (component && !field) warnOnce("Gradio draws no field in #" + id + ".");
  return field;
}

// Return the field with a slider's number that an event came from, the slider, and the block with
// both; null if it came from another element. If it is not found, Gradio sends numbers beyond the
// slider's ends, and the server refuses them with an error.
export function sliderBeside(target: EventTarget | null) {
  if (!(target instanceof HTMLInputElement && target.type === "number")) return null;
  const place: HTMLElement | null = target.closest(".block");
  const slider: HTMLInputElement | null | undefined = place?.querySelector("input[type=range]");
  return place && slider ? { field: target, slider, place } : null;
}

// Return a tab's name in the address: "lossless" for the tab "Lossless?".
export const tabKey = (name: string) => name.toLowerCase().replace(/[^a-z0-9]+/g, "");

// Return the button of a tab, given its name or key, among the tabs of the component with this id
// (not of tabs inside these). Null before the page is drawn.
export function tabButton(id: string, name: string): HTMLElement | null {
  const found: NodeListOf<HTMLElement> = document.querySelectorAll(
    "#" + id + " > .tab-wrapper " + TAB,
  );
  return [...found].find((one) => tabKey(one.textContent) === tabKey(name)) || null;
}

/** Return the name of the open tab of the component with this id. */
export const openedTab = (id: string) =>
  document.querySelector(`#${id} > .tab-wrapper ${TAB}[aria-selected=true]`)?.textContent ?? "";

// Return the key of the tab whose button an event came from; "" if it came from none.
export const tabAt = (id: string, target: EventTarget | null) =>
  tabKey((target instanceof Element && target.closest("#" + id + " " + TAB)?.textContent) || "");

export const isSelected = (button: HTMLElement) => button.getAttribute("aria-selected") === "true";

export const noTab = (name: string) => warnOnce("Gradio draws no button for the tab " + name + ".");

// Return the input of the Dropdown that an event came from, or null. If it is not found, lists open
// as usual in Gradio, whenever they get the focus.
export const dropdownAt = (target: EventTarget | null): HTMLElement | null =>
  target instanceof HTMLElement && target.matches("input[role=combobox]") ? target : null;

export const isOpen = (dropdown: HTMLElement) => dropdown.getAttribute("aria-expanded") === "true";

export const close = (dropdown: HTMLElement) =>
  dropdown.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));

/** Calls `act` at Escape, except where that closes an open list, the glossary's card or a dialog. */
export function onEscape(act: () => void) {
  const listen = (event: KeyboardEvent) => {
    const list = dropdownAt(event.target);
    const inner = (list && isOpen(list)) || document.querySelector(":popover-open, dialog[open]");
    // `lists.ts` sends one of its own to close a list.
    if (event.isTrusted && event.key === "Escape" && !inner) act();
  };
  document.addEventListener("keydown", listen, true);
}

/**
 * Return a trigger whose events always carry the newest data. Gradio repeats an event that happened
 * while its listener was busy with the data of the event before it, and sends two that happen at the
 * same time together. So all events of one name share one object.
 */
export function sendNewest(trigger: Trigger): Trigger {
  const newest: Record<string, Record<string, unknown>> = {};
  return (event, data) => {
    if (!data) return trigger(event);
    newest[event] ??= {};
    for (const key of Object.keys(newest[event])) delete newest[event][key];
    trigger(event, Object.assign(newest[event], data));
  };
}

// Gradio's dark theme is a class of the body.
export const isDark = () => document.body.classList.contains("dark");
