// Gradio's lists open when they get the focus, and by any key. Here Tab only passes by, and a click
// opens a list that has the focus and was closed by Escape.

/** @param {EventTarget | null} place @returns {HTMLElement | null} */
const listAt = (place) =>
  place instanceof HTMLElement && place.matches("input[role=combobox]") ? place : null;
/** @param {HTMLElement} list */
const isOpen = (list) => list.getAttribute("aria-expanded") === "true";
let tabbing = false;

export function tameLists() {
  document.addEventListener(
    "keydown",
    (event) => {
      tabbing = event.key === "Tab";
      if (tabbing && listAt(event.target)) event.stopPropagation();
    },
    true,
  );
  document.addEventListener(
    "pointerdown",
    (event) => {
      const list = listAt(event.target);
      tabbing = false;
      if (list && list === document.activeElement && !isOpen(list)) list.blur();
    },
    true,
  );
  document.addEventListener("focusin", ({ target }) => {
    const list = listAt(target);
    if (!tabbing || !list) return;
    const close = new KeyboardEvent("keydown", { key: "Escape", bubbles: true });
    setTimeout(() => list.dispatchEvent(close));
  });
}
