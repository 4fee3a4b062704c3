// A group of buttons that is one stop for the Tab key; up and down arrows move inside it.

/** @type {Record<string, number>} */
const KEYS = { ArrowDown: 1, ArrowUp: -1 };

/** @param {HTMLElement} place */
function stops(place) {
  /** @type {NodeListOf<HTMLElement>} */
  const found = place.querySelectorAll("button, [role=button]");
  return [...found];
}

// Put one button of the group in the tab order: the given one, or the first.
/** @param {HTMLElement} place @param {Element | null} chosen */
export function oneStop(place, chosen) {
  const all = stops(place);
  const first = all.find((each) => each === chosen) || all[0];
  for (const each of all) {
    const index = each === first ? "0" : "-1";
    if (each.getAttribute("tabindex") !== index) each.setAttribute("tabindex", index);
  }
}

/** @param {KeyboardEvent} event */
export function moveAmong(event) {
  const by = KEYS[event.key];
  const place = event.currentTarget;
  if (!by || !(place instanceof HTMLElement)) return;
  event.preventDefault();
  const all = stops(place);
  const next = all[all.indexOf(/** @type {HTMLElement} */ (event.target)) + by];
  if (!next) return;
  oneStop(place, next);
  next.focus();
}
