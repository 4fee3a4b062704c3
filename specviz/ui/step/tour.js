// The tour: a few stops. Each moves the player to a matching step and highlights what it is about.
// Nothing is blocked; the reader may step elsewhere at any time.

import { openTab } from "../shared/tabs.js";
import { there } from "../shared/there.js";
import { go } from "./cursor.js";
import { stage } from "./intro_stage.js";
import { pause } from "./play.js";
import { firstRejection, reel, stepName, stepsOf } from "./reel.js";
import { load } from "./runs.js";
import { $ } from "./stage.js";

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
  if (place === "end") return [reel.rounds.length - 1, stepsOf(reel.rounds.length - 1) - 1];
  const fell = place === "own" ? null : firstRejection();
  if (!fell || place === "rejection") return fell;
  const next = stepsNamed(fell[0], place === "commit" ? "commit" : "draw")[0];
  return next === undefined ? null : [fell[0], next];
}

/** @param {number} round @param {string} kind */
function stepsNamed(round, kind) {
  const steps = [...Array(stepsOf(round)).keys()];
  return steps.filter((step) => stepName(round, step).kind === kind);
}

/** @param {string | null} selector */
function ring(selector) {
  for (const one of document.querySelectorAll(".sv-ringed")) one.classList.remove("sv-ringed");
  /** @type {HTMLElement | null} */
  const ringed = selector ? document.querySelector(selector) : null;
  if (!ringed) return;
  ringed.classList.add("sv-ringed");
  clear(ringed);
}

const AROUND = 14; // px between what a stop is about and the card, the dock

// Scrolls so that neither the tour's card nor what stays at the window's end covers an element; of
// one that is too tall, its start is shown.
/** @param {HTMLElement} element */
function clear(element) {
  const height = (/** @type {string} */ name) => {
    const all = document.querySelectorAll(name);
    return [...all].reduce((most, each) => Math.max(most, each.getBoundingClientRect().height), 0);
  };
  const card = height(".sv-tour") + AROUND;
  const timeline =
    element.closest(".sv-time") || $(".sv").matches(".sv-one") ? 0 : height(".sv-time");
  const dock = Math.max(height(".sv-dock"), height(".sv-buttons")) + timeline + AROUND;
  const zoom = element.currentCSSZoom ?? 1;
  element.style.scrollMargin = `${card / zoom}px 0 ${dock / zoom}px`;
  const fits = element.getBoundingClientRect().height + card + dock <= innerHeight;
  element.scrollIntoView({
    block: fits ? "nearest" : "start",
    behavior: "auto",
  });
  element.style.scrollMargin = "";
}
