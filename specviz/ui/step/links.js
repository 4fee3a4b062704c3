// Links: ?trace=name&round=6&step=judge-3 opens a recorded run at a step. A branch of a run, and the
// way back from it, lead to a step in the same manner.

import { openTab } from "../shared/tabs.js";
import { paint } from "./cursor.js";
import { now } from "./now.js";
import { reel, stepName, stepsOf } from "./reel.js";
import { stage } from "./stage.js";

export const asked = new URLSearchParams(location.search);
now.link = asked.get("round")
  ? { round: Number(asked.get("round")), step: asked.get("step") }
  : null;

// What to say of a link to a recorded run that is not here; the round that it names is another's.
export function lost() {
  const name = asked.get("trace");
  if (!name || stage.config.recorded.includes(name)) return "";
  now.link = null;
  const called = name.length > 60 ? name.slice(0, 60) + "…" : name;
  return `There is no recorded run called “${called}” here, so this is the first of them.`;
}

// Keys that other tabs read once they are opened: a link with one of them opens its tab.
const TABS = { race: "Compare", alpha: "Cost", gamma: "Cost", c: "Cost", verify: "Cost" };

export function openLinked() {
  const key = Object.keys(TABS).find((name) => asked.has(name));
  if (key) openTab(TABS[key]);
}

export function follow() {
  const round = now.link ? reel.rounds.findIndex((told) => told.number === now.link.round) : -1;
  const wish = now.link?.step;
  if (round < 0) return false;
  now.at = { round, step: 0 };
  for (let step = 1; step < stepsOf(round); step += 1) {
    if (stepName(round, step).id === wish) now.at = { round, step };
  }
  paint();
  return true;
}

let remembering = null;
export function remember(frame) {
  clearTimeout(remembering);
  const url = new URL(location.href);
  const place = {
    trace: reel.run.id,
    round: reel.rounds[now.at.round].number,
    step: frame.step.id,
  };
  for (const [key, value] of Object.entries(place)) {
    if (now.shown === "recorded") url.searchParams.set(key, value);
    else url.searchParams.delete(key); // a live run cannot be linked to
  }
  remembering = setTimeout(() => history.replaceState(history.state, "", url), 300);
}
