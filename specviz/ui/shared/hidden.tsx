// Controls that a link hides: ?hide=settings,tabs. Each name is a class of the body, for which the
// style sheet (47-hidden.css) has a rule.

import { writeAddress } from "./address";
import { Button, toElement } from "./view";

export const HIDEABLE = [
  "intro",
  "form",
  "settings",
  "tabs",
  "tools",
  "predict",
  "timeline",
  "save",
];
const KEY = "hide";
const MOST = 40; // letters of an unknown name that are shown

const asked = (new URLSearchParams(location.search).get(KEY) ?? "").split(",").filter(Boolean);

export function hideControls() {
  for (const name of HIDEABLE)
    document.body.classList.toggle("sv-hide-" + name, asked.includes(name));
}

/** A message if the link asks to hide a part that cannot be hidden; "" otherwise. */
export function hidingProblem() {
  const unknown = asked.find((name) => !HIDEABLE.includes(name));
  if (unknown === undefined) return "";
  const shown = unknown.length > MOST ? unknown.slice(0, MOST) + "…" : unknown;
  return `This link hides “${shown}”, which is none of: ${HIDEABLE.join(", ")}.`;
}

/** A line that shows what a link hides; null if it hides nothing. */
export function showAllLine() {
  if (!asked.some((name) => HIDEABLE.includes(name))) return null;
  const label = "Show the controls that this link hides";
  return toElement(<p class="sv-show-all">{Button(label, showAll, { class: "sv-link" })}</p>);
}

function showAll() {
  for (const name of HIDEABLE) document.body.classList.remove("sv-hide-" + name);
  document.querySelector(".sv-show-all")?.remove();
  writeAddress({ [KEY]: null });
  window.dispatchEvent(new Event("resize"));
}
