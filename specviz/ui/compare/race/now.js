// A race in progress: the lane that runs, and the order of the lanes.

import { el } from "../../shared/dom.js";
import { there } from "../../shared/there.js";
import { rows, showWaiting } from "./lanes.js";
import { called, story } from "./lines.js";
import { $, stage } from "./stage.js";
import { clocked, many, sign } from "./words.js";

export function showNow() {
  const { source, order } = there(story.race);
  const under = source === "live" && !story.over;
  $(".sv-race-now").hidden = !under;
  $(".sv-race").classList.toggle("sv-race-live", under);
  /** @type {HTMLButtonElement[]} */
  const buttons = stage.all("[data-race]");
  for (const button of buttons) button.disabled = under || !story.lanes.size;
  $(".sv-race-pin").tabIndex = under ? -1 : 0;
  for (const name of rows.keys()) showWaiting(name);
  if (!under) return;
  const { now } = story;
  $(".sv-race-sub").textContent = "· lanes run one at a time, then replay side by side";
  const turn = now && now.turn > 1 ? "Short lanes again, run " + now.turn + " · " : "";
  const place = now ? "Lane " + now.place + " of " + order.length + ": " + called(now.lane) : "";
  const who = now ? turn + place : "Getting ready";
  if ($(".sv-race-who").textContent !== who) $(".sv-race-who").textContent = who;
  $(".sv-race-far").textContent = !now
    ? ""
    : now.seconds === null
      ? ", warming up"
      : ", " + many(now.tokens, "token") + ", " + clocked(now.seconds);
  $(".sv-race-order").replaceChildren(
    "Random order: ",
    ...order.flatMap((name, at) => [at ? ", " : "", step(name, at + 1)]),
  );
}

// A lane in the order: done, running or still to come.
/** @param {string} name @param {number} place */
function step(name, place) {
  const { now } = story;
  const here = Boolean(now && now.place === place && !now.done);
  const did = Boolean(now && !here && now.place >= place);
  const made = el(
    "span",
    did ? "sv-race-did" : here ? "sv-race-does" : "",
    called(name),
    did ? sign("same") : null,
  );
  if (here) made.setAttribute("aria-current", "step");
  return made;
}
