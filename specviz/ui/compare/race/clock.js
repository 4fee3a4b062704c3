// The clock of the replay. Web animations move the playhead and uncover the bars by themselves; at
// each frame the script changes counts and words, where a pass has ended since the last one.

import { icon } from "../../shared/dom.js";
import { showPin, tellTime } from "./axis.js";
import { hands } from "./hands.js";
import { rows, showLane } from "./lanes.js";
import { longest, story } from "./lines.js";
import { $ } from "./stage.js";

/** @type {[number, string, string][]} */
const SPEEDS = [
  [0.25, "¼ ×", "a quarter of the speed"],
  [0.5, "½ ×", "half the speed"],
  [1, "1 ×", "full speed"],
  [2, "2 ×", "twice the speed"],
];
const PATIENCE = 20; // seconds that a replay may take by itself
const STEP = 500; // ms between the still pictures for those who want no motion
const calm = matchMedia("(prefers-reduced-motion: reduce)");
let speed = 0; // which of SPEEDS
let chosen = false; // somebody has chosen it
/** @type {Animation | null} */
export let lead = null; // the animation that tells the time; the others go with it
/** @type {Animation[]} */
let others = [];
let waits = 0; // the timer of still pictures

export const time = () => (lead ? Math.min(Number(lead.currentTime) / 1000, longest()) : 0);
const atEnd = () => time() >= longest() - 1e-6;

const all = () => (lead ? [lead, ...others] : []);

// Animations for the bars as they are now, at the time that it is.
/** @param {number} seconds */
export function wind(seconds) {
  for (const each of all()) each.cancel();
  if (!story.lanes.size) hands.moving = [];
  /** @type {KeyframeEffectOptions} */
  const timing = { duration: Math.max(longest(), 1e-3) * 1000, fill: "both" };
  lead = new Animation(new KeyframeEffect(null, null, timing));
  others = hands.moving.map(
    ([target, frames]) => new Animation(new KeyframeEffect(target, frames, timing)),
  );
  turn(seconds);
}

// All hands to one moment, at rest.
/** @param {number} seconds */
function turn(seconds) {
  const to = 1000 * Math.max(0, Math.min(seconds, longest()));
  for (const each of all()) {
    each.pause();
    each.currentTime = to;
  }
}

/** @param {number} seconds */
export function show(seconds) {
  const end = longest();
  for (const made of rows.values()) if (made.lane) showLane(made, made.lane, seconds);
  showPin(seconds, hands.width, end);
}

/** @param {number} seconds */
export function seek(seconds) {
  if (!lead) return;
  hands.due = false;
  const on = hands.playing;
  if (on) pause();
  turn(seconds);
  show(time());
  tellTime(time());
}

export function play() {
  if (!lead || hands.playing || !story.over || !longest()) return;
  hands.due = false;
  if (atEnd()) turn(0);
  hands.playing = true;
  showPlay();
  if (calm.matches) return still();
  const from = lead.currentTime;
  for (const each of all()) {
    each.playbackRate = SPEEDS[speed][0];
    each.play();
    each.currentTime = from;
  }
  requestAnimationFrame(tick);
}

function tick() {
  if (!hands.playing) return;
  show(time());
  if (atEnd()) pause();
  else requestAnimationFrame(tick);
}

// Play, for those who want no motion: a picture every half second.
function still() {
  waits = setTimeout(() => {
    turn(time() + (STEP / 1000) * SPEEDS[speed][0]);
    show(time());
    if (atEnd()) pause();
    else still();
  }, STEP);
}

export function pause() {
  clearTimeout(waits);
  hands.playing = false;
  if (lead) turn(time());
  showPlay();
  tellTime(time());
}

export function showPlay() {
  const button = $("[data-race=play]");
  button.replaceChildren(icon(hands.playing ? "pause" : "play"));
  button.setAttribute("aria-label", hands.playing ? "Pause" : "Play");
}

export function showSpeed() {
  const [, short, said] = SPEEDS[speed];
  $("[data-race=speed]").textContent = short;
  $("[data-race=speed]").setAttribute(
    "aria-label",
    "Speed: " + said + ". Press for " + SPEEDS[(speed + 1) % SPEEDS.length][2],
  );
  if (story.over) $(".sv-race-sub").textContent = "· replayed from measured times, at " + said;
}

/** @type {Record<string, () => void>} */
const ACTS = {
  restart: () => {
    const on = hands.playing;
    seek(0);
    if (on) play();
  },
  play: () => (hands.playing ? pause() : play()),
  speed: () => {
    speed = (speed + 1) % SPEEDS.length;
    chosen = true;
    showSpeed();
    if (!hands.playing) return;
    pause();
    play();
  },
};

/** @param {string} name */
export const act = (name) => story.lanes.size && ACTS[name]();

// A race has arrived: it plays once by itself, or stands at its end where motion is not wanted.
export function present() {
  const fits = SPEEDS.findIndex(([rate]) => longest() / rate <= PATIENCE);
  if (!chosen) speed = fits < 0 ? SPEEDS.length - 1 : fits;
  showSpeed();
  hands.due = !calm.matches;
  seekQuietly(hands.due ? 0 : longest());
  playIfSeen();
}

/** @param {number} seconds */
function seekQuietly(seconds) {
  const again = hands.due;
  seek(seconds);
  hands.due = again;
}

export function playIfSeen() {
  if (hands.due && hands.seen && document.visibilityState === "visible") play();
}
