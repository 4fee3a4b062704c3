// Gradio's lists open when they get the focus, and by any key. Here Tab only passes by, and a click
// opens a list that has the focus and was closed by Escape.

const isList = (place) => place.matches?.("input[role=combobox]");
const isOpen = (list) => list.getAttribute("aria-expanded") === "true";
let tabbing = false;

export function tameLists() {
  document.addEventListener(
    "keydown",
    (event) => {
      tabbing = event.key === "Tab";
      if (tabbing && isList(event.target)) event.stopPropagation();
    },
    true,
  );
  document.addEventListener(
    "pointerdown",
    (event) => {
      const list = /** @type {HTMLElement} */ (event.target);
      tabbing = false;
      if (isList(list) && list === document.activeElement && !isOpen(list)) list.blur();
    },
    true,
  );
  document.addEventListener("focusin", ({ target }) => {
    if (!tabbing || !isList(target)) return;
    const close = new KeyboardEvent("keydown", { key: "Escape", bubbles: true });
    setTimeout(() => target.dispatchEvent(close));
  });
}
