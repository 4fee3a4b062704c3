// Links: ?trace=name&round=6&step=judge-3 opens a recorded run at a step. A branch of a run, and the
// way back from it, lead to a step in the same manner.

import { openTab } from "../shared/tabs.js";
import { there } from "../shared/there.js";
import { now } from "./now.js";
import { reel, stepName, stepsOf } from "./reel.js";
import { stage } from "./stage.js";

/** @import { Frame } from "./data.js" */

export const asked = new URLSearchParams(location.search);
now.link = asked.get("round")
  ? { round: Number(asked.get("round")), step: asked.get("step") }
  : null;

// The notice for a link to a recorded run that is not here; its round is then ignored.
export function lost() {
  const name = asked.get("trace");
  if (!name || stage.config.recorded.includes(name)) return "";
  now.link = null;
  const called = name.length > 60 ? name.slice(0, 60) + "…" : name;
  return `There is no recorded run called “${called}” here, so the first one is shown.`;
}

// Keys that other tabs read once they are opened: a link with one of them opens its tab.
/** @type {Record<string, string>} */
const TABS = {
  race: "Compare",
  rules: "Lossless?",
  tree: "Trees",
  alpha: "Cost",
  gamma: "Cost",
  c: "Cost",
  verify: "Cost",
};

export function openLinked() {
  const key = Object.keys(TABS).find((name) => asked.has(name));
  if (key) openTab(TABS[key]);
}

// Moves the cursor to where a link leads; false while that round is still to come.
export function follow() {
  const { link } = now;
  const round = link ? reel.rounds.findIndex((told) => told.number === link.round) : -1;
  const wish = link?.step;
  if (round < 0) return false;
  now.at = { round, step: 0 };
  for (let step = 1; step < stepsOf(round); step += 1) {
    if (stepName(round, step).id === wish) now.at = { round, step };
  }
  return true;
}

let remembering = 0; // the timer until the address is changed
/** @param {Frame} frame */
export function remember(frame) {
  clearTimeout(remembering);
  const place = {
    trace: there(reel.run).id,
    round: String(reel.rounds[now.at.round].number),
    step: frame.step.id,
  };
  const recorded = now.shown === "recorded";
  remembering = setTimeout(() => {
    const url = new URL(location.href); // as it is by then: other tabs write there too
    for (const [key, value] of Object.entries(place)) {
      if (recorded) url.searchParams.set(key, value);
      else url.searchParams.delete(key); // a live run cannot be linked to
    }
    history.replaceState(history.state, "", url);
  }, 300);
}
