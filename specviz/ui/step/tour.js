// The tour: a few stops, each of which moves the player to a suitable step and highlights an
// element. Nothing is blocked; the reader can step elsewhere at any time.

import { catalogue, LanguageSwitch, language, phrase } from "../shared/language.js";
import { ring } from "../shared/ring.js";
import { Stage } from "../shared/stage.js";
import { openTab } from "../shared/tabs.js";
import { there } from "../shared/there.js";
import { Button, h, render } from "../shared/view.js";
import { go } from "./cursor.js";
import { rememberTour, updateMode } from "./mode.js";
import { pause } from "./playback.js";
import { firstRejection, reel, stepName, stepsOf } from "./reel.js";
import { load } from "./runs.js";

/** @import { Place } from "./cursor.js" */
/** @import { Stop, TourConfig } from "./tour.py" */

/** @type {Stage<TourConfig>} */
export const stage = new Stage();
let shown = 0; // the stop's number

/** @param {() => void} onBegin */
export function startTour(onBegin) {
  window.addEventListener("sv-tour", async () => {
    onBegin();
    await openTab("Step");
    const { run } = stage.config;
    if (run && reel.run?.id !== run) await load(run);
    show(0);
    stage.$("[data-tour=next]").focus();
  });
  window.addEventListener("sv-language", paint);
  stage.$(".sv-tour").addEventListener("keydown", (event) => {
    if (event.key === "Escape") end();
  });
}

function end() {
  document.body.classList.remove("sv-in-tour");
  stage.$(".sv-tour").hidden = true;
  ring(null);
}

/** @param {number} number */
function show(number) {
  const stop = stage.config.stops[number];
  if (!stop) {
    rememberTour();
    return end();
  }
  shown = number;
  document.body.classList.add("sv-in-tour"); // its stops are on the screen of Details
  updateMode();
  stage.$(".sv-tour").hidden = false;
  paint();
  pause();
  const to = placeOf(stop.place);
  if (to) go(...to);
  ring(stop.at);
}

function paint() {
  const card = stage.$(".sv-tour");
  card.lang = language();
  card.setAttribute("aria-label", phrase("tour"));
  render(TourCard(stage.config.stops[shown], shown), card);
}

/** @param {Stop} stop @param {number} number */
function TourCard({ place }, number) {
  const { length } = stage.config.stops;
  const { title, say } = catalogue().tour[place];
  const back = { class: "sv-button", "data-tour": "back", disabled: !number };
  const next = { class: "sv-button", "data-tour": "next" };
  const away = { class: "sv-away", "data-tour": "end", title: phrase("end_tour") };
  return [
    h(
      "p",
      { role: "status" },
      h("b", { class: "sv-tour-title" }, title),
      " ",
      h("span", { class: "sv-tour-say" }, say),
    ),
    LanguageSwitch(),
    h(
      "div",
      { class: "sv-tour-go" },
      h("span", { class: "sv-tour-at" }, phrase("at", { at: number + 1, all: length })),
      Button(phrase("back"), () => show(number - 1), back),
      Button(phrase(number + 1 < length ? "next" : "done"), () => show(number + 1), next),
      Button("×", end, { ...away, "aria-label": phrase("end_tour") }),
    ),
  ];
}

// Return a step of the open run for a stop; null if none is suitable.
/** @param {string} place @returns {Place | null} */
export function placeOf(place) {
  if (place === "plain") return [0, stepsOf(0) - 1];
  const round = reel.rounds.findIndex((_, at) => stepsNamed(at, "propose").length);
  if (place === "guess") return [round, there(stepsNamed(round, "propose").at(-1))];
  if (place === "check") return [round, stepsNamed(round, "score")[0]];
  if (place === "end") return [reel.rounds.length - 1, stepsOf(reel.rounds.length - 1) - 1];
  const rejected = place === "own" ? null : firstRejection();
  if (!rejected || place === "rejection") return rejected;
  const next = stepsNamed(rejected[0], place === "commit" ? "commit" : "draw")[0];
  return next === undefined ? null : [rejected[0], next];
}

/** @param {number} round @param {string} kind */
function stepsNamed(round, kind) {
  const steps = [...Array(stepsOf(round)).keys()];
  return steps.filter((step) => stepName(round, step).kind === kind);
}
