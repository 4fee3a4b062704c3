// Functions for the whole page: its theme, and the widths of sections and tables.

import { isDark } from "./gradio";

/** Call `show` whenever a class of the page's body changes. */
export const onBodyClass = (show: () => void) =>
  new MutationObserver(show).observe(document.body, {
    attributes: true,
    attributeFilter: ["class"],
  });

const COMPACT = 800; // px of a section's own width, of which larger text leaves fewer
const NARROW = 1100; // px of a window in which three columns do not fit
const PHONE = 600;

/** Mark a section by its width: sv-compact, and sv-phone if it is as narrow as a phone. */
export function markWidth(element: HTMLElement) {
  const mark = () => {
    const width = element.clientWidth;
    if (!width) return; // another tab is open
    element.classList.toggle("sv-compact", width < COMPACT || innerWidth <= NARROW);
    element.classList.toggle("sv-phone", width < PHONE);
  };
  mark();
  new ResizeObserver(mark).observe(element);
}

/** Let tables of an instrument that are wider than it be scrolled by keyboard, too. */
export function focusWideTables(instrument: Element) {
  const mark = () => {
    for (const each of instrument.querySelectorAll<HTMLElement>(".sv-listing"))
      if (each.scrollWidth > each.clientWidth) each.tabIndex = 0;
      else each.removeAttribute("tabindex");
  };
  new ResizeObserver(mark).observe(instrument);
}

// Call `repaint` whenever the page becomes dark or light.
export function onTheme(repaint: () => void) {
  let dark = isDark();
  onBodyClass(() => {
    if (dark === isDark()) return;
    dark = !dark;
    repaint();
  });
}
