// Many buttons that are one stop for the Tab key: up and down arrows move among them.

const KEYS = { ArrowDown: 1, ArrowUp: -1 };
const stops = (place) => [...place.querySelectorAll("button, [role=button]")];

// One of them is in the order of tabs: the one given, or else the first.
export function oneStop(place, chosen) {
  const all = stops(place);
  const first = all.includes(chosen) ? chosen : all[0];
  for (const each of all) each.tabIndex = each === first ? 0 : -1;
}

export function moveAmong(event) {
  const by = KEYS[event.key];
  if (!by) return;
  event.preventDefault();
  const all = stops(event.currentTarget);
  const next = all[all.indexOf(event.target) + by];
  if (!next) return;
  oneStop(event.currentTarget, next);
  next.focus();
}
