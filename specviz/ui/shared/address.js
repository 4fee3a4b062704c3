// A part's own place in the page's address: ?key=text leads back to it. The key is there while the
// part is on screen, so that a link made on another tab opens that one.

const given = new URLSearchParams(location.search);

/** What the link that opened the page says to a part; "" where nothing. @param {string} key */
export const linkedText = (key) => given.get(key) ?? "";

/**
 * Says what the copied link opens, where it cannot lead to all that a part shows.
 * @param {HTMLElement} element
 * @param {() => string} note "" where it can.
 */
export function noteOfLink(element, note) {
  window.addEventListener("sv-link", ({ detail }) => {
    if (element.clientWidth > 0) detail.note ||= note();
  });
}

/**
 * Keeps a part's place in the address: always, or once a link named it or was copied.
 * @param {string} key
 * @param {() => string} place What leads back to the part; "" where no link can.
 * @param {HTMLElement} element
 * @param {boolean} [always]
 * @returns {() => void} To be called when that changes.
 */
export function linkable(key, place, element, always = false) {
  let here = false;
  let wanted = always || given.has(key);
  const write = () => {
    const url = new URL(location.href);
    const text = here && wanted ? place() : "";
    if (text) url.searchParams.set(key, text);
    else url.searchParams.delete(key);
    if (url.href !== location.href) history.replaceState(history.state, "", url);
  };
  window.addEventListener("sv-link", () => {
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
