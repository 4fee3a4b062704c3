// What arrives: recorded runs that are fetched, live runs that are streamed.

import { el, meaning } from "../shared/dom.js";
import { paint, pause, play } from "./cursor.js";
import { showDock } from "./dock.js";
import { follow, lost } from "./links.js";
import { came, job, notice, STOPPED, waiting } from "./live.js";
import { now } from "./now.js";
import { feed, frameAt, reel } from "./reel.js";
import { $, stage } from "./stage.js";
import { clearText } from "./text.js";
import { showTime } from "./time.js";
import { showFork } from "./whatif.js";

let fresh = false; // a run has begun and no round of it is on screen yet

export function onRun() {
  fresh = true;
  now.question = null;
  now.at = { round: 0, step: 0 };
  now.shown = reel.run.source;
  clearText();
  if (!job.number || now.shown === "recorded") notice("");
  $(".sv-badge").textContent = reel.run.source;
  $(".sv-badge").title = meaning(reel.run.source);
  $(".sv-where").textContent =
    reel.run.drafter + " drafts for " + reel.run.where + " · " + reel.run.said;
  const { drafter, how } = reel.run;
  $(".sv-drafts").replaceChildren(...(how ? [el("b", "", drafter + "."), " " + how] : []));
  $(".sv-lossy").textContent = reel.run.lossless ? "" : "not lossless";
  $(".sv").dataset.source = reel.run.source;
}

export function onRounds() {
  if (fresh) {
    came();
    const led = follow();
    if (!led && now.link && waiting()) return; // the round that is asked for is still to come
    fresh = false;
    now.link = null;
    showFork();
    if (led) return;
    now.at = { round: firstDrafted(), step: 0 };
    paint();
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) play(true);
  } else {
    showDock(now.at.round, now.at.step);
    showTime(frameAt(now.at.round, now.at.step), now.at.round);
  }
}

// Where a run is opened: at the first guesses, not at the prefill before them.
function firstDrafted() {
  const drafted = reel.rounds.findIndex((told) => Object.keys(told.first.tree.nodes).length);
  return Math.max(0, drafted);
}

// Where the run stands on the speed law, for whoever shows that: nothing, where it has no such place.
export function tellMeasured() {
  const point = reel.baseline.point;
  window.specviz.measured = point ? { ...point, name: reel.run.drafter, source: now.shown } : null;
  window.dispatchEvent(new CustomEvent("sv-measured"));
}

export function onEnd() {
  if (fresh && reel.rounds.length) onRounds(); // it ended before the round that was asked for
  if (reel.finished && reel.finished.reason === "stopped") notice(STOPPED);
  if (reel.rounds.length) showTime(frameAt(now.at.round, now.at.step), now.at.round);
}

// Shows a recorded run; what the form would say to make it again, or nothing where it cannot be read.
export async function load(name) {
  pause();
  if (reel.run) now.link = null; // a link in the page's address is for its first run
  const missing = reel.run ? "" : lost();
  const answer = await fetch(stage.config.traces + encodeURIComponent(name));
  if (!answer.ok)
    return notice(
      "This recorded run could not be read. " + (answer.status === 422 ? await answer.text() : ""),
    );
  const text = await answer.text();
  job.wanted = 0;
  reel.text = "";
  feed(text);
  notice(missing);
  return formOf(reel.run);
}

// The form's values that ask for this run, in the order of its inputs; lists as they are typed.
function formOf(run) {
  const { sampling, ...chosen } = { ...stage.config.usual, ...run.settings };
  const drafter = stage.config.drafters.includes(run.names[1])
    ? run.names[1]
    : stage.config.drafters[0];
  const known = { ...chosen, ...sampling, prompt: run.prompt, method: drafter };
  const path = (list) => list.join(",");
  const typed = { wholes: (list) => list.join(", "), paths: (list) => list.map(path).join("; ") };
  return stage.config.form.map(({ name, kind }) =>
    typed[kind] ? typed[kind](known[name]) : known[name],
  );
}

export function receive() {
  if (job.hear(stage.props.value).length) feed(stage.props.value);
}
