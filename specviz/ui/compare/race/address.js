// The recorded race in the page's address: ?race=2-repeat leads back to it. The key is there while
// the tab is, so that a link made on another tab opens that one; a live race has no link.

let shown = ""; // the recorded race's name
let here = true;

/** @param {string} name */
export function remember(name) {
  shown = name;
  write();
}

/** @param {boolean} is */
export function onScreen(is) {
  if (is === here) return;
  here = is;
  write();
}

function write() {
  const url = new URL(location.href);
  if (here && shown) url.searchParams.set("race", shown);
  else url.searchParams.delete("race");
  history.replaceState(history.state, "", url);
}
