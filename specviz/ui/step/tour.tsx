// The tour: a few stops, each of which moves the player to a suitable step and highlights an
// element. Nothing is blocked; the reader can step elsewhere at any time.

import { catalogue, LanguageSwitch, language, phrase } from "../shared/language";
import { ring } from "../shared/ring";
import { Stage } from "../shared/stage";
import { tour } from "../shared/store";
import { openTab } from "../shared/tabs";
import { required } from "../shared/required";
import { Button, render } from "../shared/view";
import { firstRejection, go, player, stepName, stepsOf } from "./state";
import { rememberTour } from "./mode";
import { pause } from "./playback";
import { load } from "./runs";

import type { Place } from "./state";
import type { Stop, TourConfig } from "./tour.py";

export const stage: Stage<TourConfig> = new Stage();
let shown = 0; // the stop's number

export function startTour(onBegin: () => void) {
  tour.on(async (opens) => {
    if (!opens) return hide();
    onBegin();
    await openTab("Step");
    const { run } = stage.config;
    if (run && player.run?.id !== run) await load(run);
    show(0);
    stage.$("[data-tour=next]").focus();
    return undefined;
  });
  language.on(paint);
  stage.$(".sv-tour").addEventListener("keydown", (event) => {
    if (event.key === "Escape") end();
  });
}

const end = () => tour.set(false);

function hide() {
  document.body.classList.remove("sv-in-tour");
  stage.$(".sv-tour").hidden = true;
  ring(null);
}

function show(number: number) {
  const stop = stage.config.stops[number];
  if (!stop) {
    rememberTour();
    return end();
  }
  shown = number;
  document.body.classList.add("sv-in-tour");
  stage.$(".sv-tour").hidden = false;
  paint();
  pause();
  const to = placeOf(stop.place);
  if (to) go(...to);
  ring(stop.at);
}

function paint() {
  const card = stage.$(".sv-tour");
  card.lang = language.value;
  card.setAttribute("aria-label", phrase("tour"));
  render(TourCard(stage.config.stops[shown], shown), card);
}

function TourCard({ place }: Stop, number: number) {
  const { length } = stage.config.stops;
  const { title, say } = catalogue().tour[place];
  const back = { class: "sv-button", "data-tour": "back", disabled: !number };
  const next = { class: "sv-button", "data-tour": "next" };
  const away = { class: "sv-away", "data-tour": "end", title: phrase("end_tour") };
  return [
    <p role="status">
      <b class="sv-tour-title">{title}</b> <span class="sv-tour-say">{say}</span>
    </p>,
    LanguageSwitch(),
    <div class="sv-tour-go">
      <span class="sv-tour-at">{phrase("at", { at: number + 1, all: length })}</span>
      {Button(phrase("back"), () => show(number - 1), back)}
      {Button(phrase(number + 1 < length ? "next" : "done"), () => show(number + 1), next)}
      {Button("×", end, { ...away, "aria-label": phrase("end_tour") })}
    </div>,
  ];
}

// Return a step of the open run for a stop; null if none is suitable.
export function placeOf(place: string): Place | null {
  if (place === "plain") return [0, stepsOf(0) - 1];
  const round = player.rounds.findIndex((_, at) => stepsNamed(at, "propose").length);
  if (place === "guess") return [round, required(stepsNamed(round, "propose").at(-1))];
  if (place === "check") return [round, stepsNamed(round, "score")[0]];
  if (place === "end") return [player.rounds.length - 1, stepsOf(player.rounds.length - 1) - 1];
  const rejected = place === "own" ? null : firstRejection();
  if (!rejected || place === "rejection") return rejected;
  const next = stepsNamed(rejected[0], place === "commit" ? "commit" : "draw")[0];
  return next === undefined ? null : [rejected[0], next];
}

function stepsNamed(round: number, kind: string) {
  const steps = [...Array(stepsOf(round)).keys()];
  return steps.filter((step) => stepName(round, step).kind === kind);
}
