// The state of a part in the page's address: ?key=text restores it. The key is in the address only
// while the part is on screen, so that a link copied on another tab opens that tab.

import { link } from "./store";

const given = new URLSearchParams(location.search);

/** Return the page's address with these values of keys; null removes one. */
export function addressWith(values: Record<string, string | null>) {
  const url = new URL(location.href);
  for (const [key, value] of Object.entries(values)) {
    if (value === null) url.searchParams.delete(key);
    else url.searchParams.set(key, value);
  }
  return url;
}

/** Set or remove keys of the page's address, without an entry in the history. */
export function writeAddress(values: Record<string, string | null>) {
  const url = addressWith(values);
  if (url.href !== location.href) history.replaceState(history.state, "", url);
}

/** Return the text that the opened link has for a part; "" for none. */
export const linkedText = (key: string) => given.get(key) ?? "";

/**
 * Add a note to a copied link that cannot restore everything that a part shows.
 * @param note Returns "" if the link restores everything.
 */
export function noteOfLink(element: HTMLElement, note: () => string) {
  link.on((detail) => {
    if (element.clientWidth > 0) detail.note ||= note();
  });
}

/**
 * Keep a part's state in the address: always, or as soon as a link contained it or was copied.
 * @param place Returns the text that restores the part, or "".
 * @returns Call it whenever this text changes.
 */
export function linkable(
  key: string,
  place: () => string,
  element: HTMLElement,
  always: boolean = false,
): () => void {
  let here = false;
  let wanted = always || given.has(key);
  const write = () => writeAddress({ [key]: (here && wanted && place()) || null });
  link.on(() => {
    wanted ||= here;
    write();
  });
  new ResizeObserver(() => {
    const is = element.clientWidth > 0;
    if (is === here) return;
    here = is;
    write();
  }).observe(element);
  return write;
}
