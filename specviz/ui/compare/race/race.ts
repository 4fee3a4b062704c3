// Set-up of the race, and the functions for Gradio's event handlers and tests.

import { DataButtons } from "../../shared/data_file";
import { NO_FILE, saveReplay } from "../../shared/offline";
import { pictures } from "../../shared/picture";
import { Button } from "../../shared/view";
import { act, pause, play, playIfInView, replay, seek, time } from "./clock";
import { $, stage, story, tokensBy } from "./lines";
import { aboutRace, raceData, raceName, raceRows, recordedLines } from "./race_data";
import { fit, show } from "./race_view";
import { job, load, notify, openFirst } from "./runs";
import { startAxis } from "./time_axis";

import type { Start } from "../../shared/section";
import type { Line } from "./lines.py";
import type { Config } from "./recorded.py";

const MOSTLY = 0.6; // share of the lanes, or of the window, that must be visible
const RATIOS = Array.from({ length: 21 }, (_, at) => at / 20);

// The race is in view if most of it is visible, or if it fills most of the window.
function onVisibility(entries: IntersectionObserverEntry[]) {
  const { intersectionRatio, intersectionRect, rootBounds } = entries[entries.length - 1];
  const filled = intersectionRect.height / (rootBounds?.height || innerHeight);
  replay.inView = Math.max(intersectionRatio, filled) >= MOSTLY;
  if (!intersectionRatio && replay.playing && !stage.element.offsetParent) pause(); // another tab
  playIfInView();
}

// Return the tokens that are shown of each lane.
const shownTokens = () =>
  Object.fromEntries(
    (story.race?.lanes ?? []).map(({ name }) => {
      const lane = story.lanes.get(name);
      return [name, lane ? tokensBy(lane, time()) : 0];
    }),
  );

/** Saves the race on screen as a file that plays without a server. */
function SaveRace() {
  const title = "This race as one file, which opens without a network";
  const save = async () => {
    const name = "specviz-" + raceName();
    const saved = await saveReplay(stage.config.replay, recordedLines(), {}, name);
    if (!saved) notify(NO_FILE);
  };
  return Button("Save the race as a page", save, { class: "sv-link", title });
}

export const start: Start<Config> = (element, props, _watch, _trigger, config) => {
  stage.set(element, props, config);
  show();
  fit();
  new ResizeObserver(fit).observe(element);
  new IntersectionObserver(onVisibility, { threshold: RATIOS }).observe($(".sv-race-board"));
  document.addEventListener("visibilitychange", playIfInView);
  $("[data-race=reveal]").addEventListener("click", () => act("reveal"));
  startAxis();
  $(".sv-race-result").append(
    pictures(
      aboutRace,
      [
        ["race", () => $(".sv-race-board")],
        ["result", () => $(".sv-race-result")],
      ],
      [
        DataButtons("numbers of the race", raceName, raceRows, raceData),
        config.served ? SaveRace() : null,
      ],
    ),
  );
  const opened = config.served ? openFirst() : undefined;
  if (config.served) job.resume();
  return {
    ...job.verbs,
    load,
    hear: (lines: Line[]) => job.hear(lines),
    seek,
    play,
    pause,
    get time() {
      return time();
    },
    get playing() {
      return replay.playing;
    },
    get race() {
      return story.race;
    },
    get whole() {
      return story.whole;
    },
    get tokens() {
      return shownTokens();
    },
    opened,
  };
};
