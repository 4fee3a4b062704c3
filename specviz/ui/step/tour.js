// The tour: six stops. Each moves the player to a matching step and highlights what it is about.
// Nothing is blocked; the reader may step elsewhere at any time.

import { openTab } from "../shared/tabs.js";
import { there } from "../shared/there.js";
import { go } from "./cursor.js";
import { stage } from "./intro_stage.js";
import { pause } from "./play.js";
import { reel, stepName, stepsOf } from "./reel.js";
import { load } from "./runs.js";

/** @import { Place } from "./data.js" */
/** @typedef {{ place: string, title: string, say: string, at: string }} Stop */
/** @typedef {{ stops: Stop[], run: string }} TourConfig */

/** @type {number | null} */
let at = null; // the current stop; null outside the tour

/** @param {() => void} begun */
export function startTour(begun) {
  window.addEventListener("sv-tour", async () => {
    begun();
    await openTab("Step");
    if (reel.run?.id !== stage.config.run) await load(stage.config.run);
    show(0);
    stage.$("[data-tour=next]").focus();
  });
  stage.$("[data-tour=back]").addEventListener("click", () => show(there(at) - 1));
  stage.$("[data-tour=next]").addEventListener("click", () => show(there(at) + 1));
  stage.$("[data-tour=end]").addEventListener("click", end);
  stage.$(".sv-tour").addEventListener("keydown", (event) => {
    if (event.key === "Escape") end();
  });
}

function end() {
  at = null;
  stage.$(".sv-tour").hidden = true;
  ring(null);
}

/** @param {number} number */
function show(number) {
  const stops = stage.config.stops;
  if (number < 0 || number >= stops.length) return end();
  at = number;
  const stop = stops[number];
  stage.$(".sv-tour").hidden = false;
  stage.$(".sv-tour-title").textContent = stop.title;
  stage.$(".sv-tour-say").textContent = stop.say;
  stage.$(".sv-tour-at").textContent = number + 1 + " of " + stops.length;
  /** @type {HTMLButtonElement} */
  const back = stage.$("[data-tour=back]");
  back.disabled = number === 0;
  stage.$("[data-tour=next]").textContent = number + 1 < stops.length ? "Next" : "Done";
  pause();
  const to = placeOf(stop.place);
  if (to) go(...to);
  ring(stop.at);
}

// Where in the run that is open a stop is true; null where it is about none of its steps.
/** @param {string} place @returns {Place | null} */
export function placeOf(place) {
  if (place === "plain") return [0, stepsOf(0) - 1];
  const round = reel.rounds.findIndex((_, at) => stepsNamed(at, "propose").length);
  if (place === "guess") return [round, there(stepsNamed(round, "propose").at(-1))];
  if (place === "check") return [round, stepsNamed(round, "score")[0]];
  const fell = place === "own" ? null : rejection();
  if (!fell || place === "rejection") return fell;
  const draw = stepsNamed(fell[0], "draw")[0];
  return draw === undefined ? null : [fell[0], draw];
}

/** @param {number} round @param {string} kind */
function stepsNamed(round, kind) {
  const steps = [...Array(stepsOf(round)).keys()];
  return steps.filter((step) => stepName(round, step).kind === kind);
}

/** @returns {Place | null} */
function rejection() {
  for (let round = 0; round < reel.rounds.length; round += 1) {
    const fell = stepsNamed(round, "judge").find((step) => stepName(round, step).is === "rejected");
    if (fell !== undefined) return [round, fell];
  }
  return null;
}

/** @param {string | null} selector */
function ring(selector) {
  for (const one of document.querySelectorAll(".sv-ringed")) one.classList.remove("sv-ringed");
  const ringed = selector ? document.querySelector(selector) : null;
  ringed?.classList.add("sv-ringed");
  ringed?.scrollIntoView({ block: "nearest", behavior: "auto" });
}
