// Form fields of the tab's sections, as components.

import { render } from "../../shared/view";

export type Option = [value: string, title: string];

export const Options = (pairs: Option[]) =>
  pairs.map(([value, title]) => (
    <option key={value} value={value}>
      {title}
    </option>
  ));

/** Change the options of a list, and keep its choice if possible. */
export function offerOptions(list: { value: string } & Element, pairs: Option[]) {
  const before = list.value;
  render(Options(pairs), list);
  list.value = pairs.some(([value]) => value === before) ? before : (pairs[0]?.[0] ?? "");
}

export const titled = (presets: Record<string, { title: string }>): Option[] =>
  Object.entries(presets).map(([name, { title }]) => [name, title]);

/** A list to choose from. */
export const Choice = (
  attributes: Record<string, unknown>,
  pairs: Option[],
  value: string,
  choose: (value: string) => void,
) => (
  <select
    {...attributes}
    value={value}
    onChange={(event: Event & { currentTarget: HTMLSelectElement }) =>
      choose(event.currentTarget.value)
    }
  >
    {Options(pairs)}
  </select>
);

/** Return what a box shows: its value, or while the visitor types, the typed text. */
export const boxValue = (id: string, value: string) =>
  document.activeElement?.id === id ? undefined : value;

/** Show a sentence about an error, or "" for none. */
export function notice(place: HTMLElement, sentence: string) {
  place.textContent = sentence;
  place.hidden = !sentence;
}
