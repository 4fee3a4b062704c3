// Assumptions of the page's scripts about the elements that Gradio draws, which it does not
// document. Styles of these elements are in 15-gradio.css; `early.js` is separate, since it runs
// before any module. If an element is not found, the result is null: the page continues without it,
// and the console reports it once.

/** @type {Set<string>} */
const warned = new Set();

/** @param {string} sentence */
function warnOnce(sentence) {
  if (warned.has(sentence)) return;
  warned.add(sentence);
  console.warn("specviz: " + sentence);
}

// The lists of a Dropdown, and the row of tabs: elements with these roles.
export const LIST = "[role=listbox]";
export const TAB = "[role=tab]";

// Return the input element in the component with this id. If it is not found, nothing is read from
// it, and it cannot be focused.
/** @param {string} id @returns {HTMLInputElement | HTMLTextAreaElement | null} */
export function fieldOf(id) {
  const component = document.getElementById(id);
  /** @type {HTMLInputElement | HTMLTextAreaElement | null} */
  const field = component?.querySelector("textarea, input") ?? null;
  if (component && !field) warnOnce("Gradio draws no field in #" + id + ".");
  return field;
}

// Return a tab's name in the address: "lossless" for the tab "Lossless?".
/** @param {string} name */
export const tabKey = (name) => name.toLowerCase().replace(/[^a-z0-9]+/g, "");

// Return the button of a tab, given its name or key, among the tabs of the component with this id
// (not of tabs inside these). Null before the page is drawn.
/** @param {string} id @param {string} name @returns {HTMLElement | null} */
export function tabButton(id, name) {
  /** @type {NodeListOf<HTMLElement>} */
  const found = document.querySelectorAll("#" + id + " > .tab-wrapper " + TAB);
  return [...found].find((one) => tabKey(one.textContent) === tabKey(name)) || null;
}

// Return the key of the tab whose button an event came from; "" if it came from none.
/** @param {string} id @param {EventTarget | null} target */
export const tabAt = (id, target) =>
  tabKey((target instanceof Element && target.closest("#" + id + " " + TAB)?.textContent) || "");

/** @param {HTMLElement} button */
export const isSelected = (button) => button.getAttribute("aria-selected") === "true";

/** @param {string} name */
export const noTab = (name) => warnOnce("Gradio draws no button for the tab " + name + ".");

// Return the input of the Dropdown that an event came from, or null. If it is not found, lists open
// as usual in Gradio, whenever they get the focus.
/** @param {EventTarget | null} target @returns {HTMLElement | null} */
export const dropdownAt = (target) =>
  target instanceof HTMLElement && target.matches("input[role=combobox]") ? target : null;

/** @param {HTMLElement} dropdown */
export const isOpen = (dropdown) => dropdown.getAttribute("aria-expanded") === "true";

/** @param {HTMLElement} dropdown */
export const close = (dropdown) =>
  dropdown.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));

/** Calls `act` at Escape, except where that closes an open list, the glossary's card or a dialog.
 * @param {() => void} act */
export function onEscape(act) {
  const listen = (/** @type {KeyboardEvent} */ event) => {
    const list = dropdownAt(event.target);
    const inner = (list && isOpen(list)) || document.querySelector(":popover-open, dialog[open]");
    // `lists.js` sends one of its own to close a list.
    if (event.isTrusted && event.key === "Escape" && !inner) act();
  };
  document.addEventListener("keydown", listen, true);
}

// Gradio's dark theme is a class of the body.
export const isDark = () => document.body.classList.contains("dark");
