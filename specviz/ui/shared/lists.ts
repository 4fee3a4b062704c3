// Gradio's lists open when they get the focus, and on any key. With this script, Tab does not open
// a list, and a click opens a list that has the focus but was closed by Escape.

import { close, dropdownAt, isOpen } from "./gradio";

let tabbing = false;

export function tameLists() {
  document.addEventListener(
    "keydown",
    (event) => {
      tabbing = event.key === "Tab";
      if (tabbing && dropdownAt(event.target)) event.stopPropagation();
    },
    true,
  );
  document.addEventListener(
    "pointerdown",
    (event) => {
      const list = dropdownAt(event.target);
      tabbing = false;
      if (list && list === document.activeElement && !isOpen(list)) list.blur();
    },
    true,
  );
  document.addEventListener("focusin", ({ target }) => {
    const list = dropdownAt(target);
    if (!tabbing || !list) return;
    setTimeout(() => close(list));
  });
}
