// Buttons, the slider, the layout, and the API that others use: `window.specviz.races`.

import { icon, mark, meaning } from "../../shared/dom.js";
import { page } from "../../shared/page.js";
import { pictures } from "../../shared/picture.js";
import { there } from "../../shared/there.js";
import { keepLink } from "./address.js";
import { act, lead, pause, play, playIfSeen, seek, showPlay, showSpeed, time } from "./clock.js";
import { hands } from "./hands.js";
import { rows } from "./lanes.js";
import { longest, onNews, story } from "./lines.js";
import { EMPTY, hear, job, load, news, notice, redraw } from "./runs.js";
import { onAxisKey, onAxisPress } from "./slider.js";
import { $, stage } from "./stage.js";
import { keyed, patch } from "./words.js";

/** @import { Start } from "../../shared/data.js" */
/** @import { Config } from "./data.js" */

const WIDE = 1050,
  SLIM = 728; // px of the section's width, which depends on the zoom
const MOSTLY = 0.6; // share of the lanes, or of the window, that must be visible
const SIGHTS = Array.from({ length: 21 }, (_, at) => at / 20);
let fitted = 0; // of the part

function fit() {
  const root = $(".sv-race"),
    width = root.clientWidth;
  if (!width || width === fitted) return;
  fitted = width;
  root.classList.toggle("sv-race-mid", width < WIDE);
  root.classList.toggle("sv-race-slim", width <= SLIM);
  if (!story.lanes.size) return;
  const at = time(),
    on = hands.playing;
  redraw(lead ? at : longest());
  if (!on) return;
  hands.playing = false; // the animations were rebuilt
  play();
}

function legends() {
  $(".sv-race-times").append(
    keyed(patch("q"), "drafting"),
    keyed(patch("p"), "target pass"),
    keyed(patch("rest"), "other"),
    ...["accepted", "recovered", "bonus"].map((state) => {
      const made = keyed(mark(state), state, "sv-race-k-" + state);
      made.title = meaning(state);
      return made;
    }),
  );
}

// The race is in view if most of it is visible, or if it fills most of the window.
/** @param {IntersectionObserverEntry[]} entries */
function onSight(entries) {
  const { intersectionRatio, intersectionRect, rootBounds } = entries[entries.length - 1];
  const filled = intersectionRect.height / (rootBounds?.height || innerHeight);
  hands.seen = Math.max(intersectionRatio, filled) >= MOSTLY;
  if (!intersectionRatio && hands.playing && !stage.element.offsetParent) pause(); // another tab
  playIfSeen();
}

/** @type {Start<Config>} */
export function start(element, props, watch, _trigger, config) {
  stage.set(element, props, config);
  onNews(news);
  legends();
  fit();
  new ResizeObserver(fit).observe(element);
  keepLink();
  new IntersectionObserver(onSight, { threshold: SIGHTS }).observe($(".sv-race-board"));
  document.addEventListener("visibilitychange", playIfSeen);
  $("[data-race=again]").prepend(icon("first"));
  $("[data-race=texts]").addEventListener("click", () => {
    const full = $(".sv-race").classList.toggle("sv-race-full");
    $("[data-race=texts]").setAttribute("aria-pressed", String(full));
  });
  for (const button of stage.all("[data-race]:not([data-race=texts])"))
    button.addEventListener("click", () => act(there(button.dataset.race)));
  $(".sv-race-axis").addEventListener("pointerdown", onAxisPress);
  $(".sv-race-pin").addEventListener("keydown", onAxisKey);
  $(".sv-race-result").append(
    pictures([
      ["race", () => $(".sv-race-board")],
      ["result", () => $(".sv-race-result")],
    ]),
  );
  showPlay();
  showSpeed();
  watch("value", () => hear(props.value));
  const face = {
    begin: () => job.begin(),
    stop: () => job.stop(),
    ended: () => job.ended(),
    load,
    hear,
    seek,
    play,
    pause,
    get time() {
      return time();
    },
    get playing() {
      return hands.playing;
    },
    get race() {
      return story.race;
    },
    get whole() {
      return story.whole;
    },
    get tokens() {
      return Object.fromEntries([...rows].map(([name, made]) => [name, Math.max(0, made.tokens)]));
    },
    /** @type {Promise<unknown> | undefined} */
    opened: undefined,
  };
  page("races")[stage.config.name] = face;
  const names = stage.config.recorded || [],
    asked = new URLSearchParams(location.search).get("race");
  const first = asked && names.includes(asked) ? asked : names[0];
  if (!first) notice(EMPTY);
  face.opened = first ? load(first) : undefined;
}
