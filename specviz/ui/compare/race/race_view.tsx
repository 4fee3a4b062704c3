// The race as it is shown, from its lines and the time of its replay.

import { meaning } from "../../shared/dom";
import {
  Button,
  classes,
  InlineFacts,
  Icon,
  LegendEntry,
  Mark,
  render,
  Sentence,
  Swatch,
} from "../../shared/view";
import { act, hasStarted, onChange, replay, rewind, time } from "./clock";
import { Lanes } from "./lanes";
import { $, isRunning, longest, story } from "./lines";
import { RaceProgress } from "./race_progress";
import { showResult } from "./race_result";
import { TimeAxis } from "./time_axis";

import type { ComponentChild } from "preact";

const WIDE = 1050,
  SLIM = 728; // the section's width in px, which depends on the zoom

/** width: the section's width in px. full: whether whole texts are shown. strange: about the prompt. */
export const view = { width: 0, full: false, notice: Sentence(""), strange: "" };

/** Show everything. */
export function show() {
  const { race } = story;
  render(view.notice, $(".sv-race-notice"));
  render(Legend(), $(".sv-race-times"));
  if (race) {
    $(".sv-race").dataset.source = race.source;
    render(Source(race.source, [race.where, race.settings]), $(".sv-race-source"));
    render([<b>Prompt</b>, " ", race.prompt], $(".sv-race-given"));
    render(view.strange, $(".sv-race-strange"));
    render(isRunning() ? RaceProgress() : null, $(".sv-race-now"));
    showResult();
  }
  showMoment();
}

/** Show everything that changes during a replay. */
function showMoment() {
  $(".sv-race").className = classes(
    "sv-race",
    view.width < WIDE && "sv-race-mid",
    view.width <= SLIM && "sv-race-slim",
    view.full && "sv-race-full",
    isRunning() && "sv-race-live",
    replay.withheld && "sv-race-withheld",
  );
  render(subtitle(), $(".sv-sub"));
  render(Buttons(), $(".sv-race-buttons"));
  $(".sv-race-top").hidden = !story.lanes.size;
  if (!story.race) return;
  render(TimeAxis(time(), view.width <= SLIM), $(".sv-race-axis"));
  render(Lanes(time()), $(".sv-race-lanes"));
}
onChange(showMoment);

/** Show the lanes for the current width and time of the replay. */
export function redraw(seconds: number) {
  show();
  replay.width = $(".sv-race-ticks").clientWidth;
  showMoment();
  rewind(seconds);
}

/** Update the view when the section's width changes. */
export function fit() {
  const width = $(".sv-race").clientWidth;
  if (!width || width === view.width) return;
  view.width = width;
  if (story.lanes.size) redraw(hasStarted() ? time() : longest());
  else show();
}

const Source = (source: string, facts: string[]) => [
  <span class="sv-badge" title={meaning(source)}>
    {source}
  </span>,
  <span class="sv-where">{InlineFacts(facts.filter(Boolean).join(" · "))}</span>,
];

const Legend = () => [
  LegendEntry("drafting", "drafting", Swatch("q")),
  LegendEntry("pass", "target pass", Swatch("p")),
  LegendEntry("other", "other", Swatch("rest")),
  ...["accepted", "recovered", "bonus"].map((state) => LegendEntry(state, state, Mark(state))),
];

// Return a speed as a fraction of real time: 1/32, 2/3, 6.
function fraction(rate: number) {
  const over = [1, 2, 3].find((each) => Math.abs(each / rate - Math.round(each / rate)) < 1e-9);
  return Number.isInteger(rate) || !over ? String(rate) : over + "/" + Math.round(over / rate);
}
const spoken = (rate: number) => (rate === 1 ? "real time" : fraction(rate) + " × real time");

function subtitle() {
  if (isRunning())
    return "· a lane is one drafter with its settings; lanes run one at a time, then replay side by side";
  return story.over ? "· measured times, " + spoken(replay.speeds[replay.speed]) : "";
}

function Buttons() {
  const { playing, invites, speeds, speed } = replay;
  const disabled = isRunning() || !story.lanes.size;
  const play = playing ? "Pause" : invites ? "Play the race" : "Play";
  const next = spoken(speeds[(speed + 1) % speeds.length]);
  const button = (name: string, label: ComponentChild, attributes?: object) =>
    Button(label, () => act(name), { "data-race": name, disabled, ...attributes });
  return [
    button("texts", "Full texts", { "aria-pressed": view.full, onClick: toggleTexts }),
    button("again", [Icon("first"), "Again"]),
    button("play", [Icon(playing ? "pause" : "play"), invites && play], { "aria-label": play }),
    button("speed", fraction(speeds[speed]) + " ×", {
      "aria-label": "Speed: " + spoken(speeds[speed]) + ". Press for " + next,
    }),
  ];
}

function toggleTexts() {
  view.full = !view.full;
  showMoment();
}
