// A group of buttons that is one stop for the Tab key; up and down arrows move inside it.

const KEYS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };

function stops(place: HTMLElement) {
  const found: NodeListOf<HTMLElement> = place.querySelectorAll("button, [role=button]");
  return [...found];
}

// Put one button of the group in the tab order: the given one, or the first.
export function oneStop(place: HTMLElement, chosen: Element | null) {
  const all = stops(place);
  const first = all.find((each) => each === chosen) || all[0];
  for (const each of all) {
    const index = each === first ? "0" : "-1";
    if (each.getAttribute("tabindex") !== index) each.setAttribute("tabindex", index);
  }
}

export function moveAmong(event: KeyboardEvent) {
  const by = KEYS[event.key];
  const place = event.currentTarget;
  if (!by || !(place instanceof HTMLElement)) return;
  event.preventDefault();
  const all = stops(place);
  const next = all[all.indexOf(event.target as HTMLElement) + by];
  if (!next) return;
  oneStop(place, next);
  next.focus();
}
