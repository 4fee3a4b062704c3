// A race under way: which lane runs, as number what of how many, and the order they were given.

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
  $(".sv-race-sub").textContent =
    "· lane by lane, each alone on the machine; replayed side by side when all have ended";
  const who = now ? now.place + " of " + order.length + ": " + called(now.lane) : "Getting ready";
  if ($(".sv-race-who").textContent !== who) $(".sv-race-who").textContent = who;
  $(".sv-race-far").textContent = !now
    ? ""
    : now.seconds === null
      ? ", warming up"
      : ", " + many(now.tokens, "token") + ", " + clocked(now.seconds);
  $(".sv-race-order").replaceChildren(
    "Shuffled order: ",
    ...order.flatMap((name, at) => [at ? ", " : "", step(name)]),
  );
}

// A lane in the order: done, running or to come.
/** @param {string} name */
function step(name) {
  const here = story.now && story.now.lane === name && !story.lanes.has(name);
  const did = story.lanes.has(name);
  const made = el(
    "span",
    did ? "sv-race-did" : here ? "sv-race-does" : "",
    called(name),
    did ? sign("same") : null,
  );
  if (here) made.setAttribute("aria-current", "step");
  return made;
}
