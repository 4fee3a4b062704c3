// The clock of the replay. Web animations move the playhead and uncover the bars; the script updates
// counts and words in frames in which a pass has ended.

import { icon } from "../../shared/dom.js";
import { showPin, tellTime } from "./axis.js";
import { hands } from "./hands.js";
import { rows, showLane } from "./lanes.js";
import { longest, story } from "./lines.js";
import { $ } from "./stage.js";

const BRIEF = 8,
  LONG = 12; // seconds that a replay takes at its first speed, at least and at most
const STEP = 500; // ms between still pictures if the visitor prefers reduced motion
const calm = matchMedia("(prefers-reduced-motion: reduce)");
let speeds = [1]; // speeds to choose from, relative to real time, slowest first
let speed = 0; // which of them
let invites = false; // reduced motion, and nothing has moved yet: the button has a longer label
/** @type {Animation | null} */
export let lead = null; // the animation whose time counts; the others follow it
/** @type {Animation[]} */
let others = [];
let waits = 0; // the timer of still pictures

// The largest of 1, 1.5, 2, 3, 4, 6, 8 … that is at most this number (1 or more).
/** @param {number} most */
function upTo(most) {
  const two = 2 ** Math.floor(Math.log2(most));
  return most < 1.5 * two ? two : 1.5 * two;
}

// The speed at which a race of this many seconds takes 8 to 12 seconds.
/** @param {number} seconds */
const fitting = (seconds) =>
  seconds > BRIEF ? upTo(seconds / BRIEF) : 1 / upTo(LONG / Math.max(seconds, 1e-4));

// A speed as a fraction of real time: 1/32, 2/3, 6.
/** @param {number} rate */
function fraction(rate) {
  const over = [1, 2, 3].find((each) => Math.abs(each / rate - Math.round(each / rate)) < 1e-9);
  return Number.isInteger(rate) || !over ? String(rate) : over + "/" + Math.round(over / rate);
}
/** @param {number} rate */
const spoken = (rate) => (rate === 1 ? "real time" : fraction(rate) + " × real time");

export const time = () => (lead ? Math.min(Number(lead.currentTime) / 1000, longest()) : 0);
const atEnd = () => time() >= longest() - 1e-6;

const all = () => (lead ? [lead, ...others] : []);

// Build the animations for the current bars, at this moment.
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

// Set all animations to one moment, paused.
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
  if (story.over && seconds >= end - 1e-6) withhold(false);
}

// Hide the rest of the bars and the result, whose space is kept, until a replay has shown them.
/** @param {boolean} until */
const withhold = (until) => $(".sv-race").classList.toggle("sv-race-withheld", until);

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
  hands.due = invites = false;
  if (atEnd()) turn(0);
  hands.playing = true;
  showPlay();
  if (calm.matches) return still();
  const from = lead.currentTime;
  for (const each of all()) {
    each.playbackRate = speeds[speed];
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

// Play with reduced motion: one picture every half second.
function still() {
  waits = setTimeout(() => {
    turn(time() + (STEP / 1000) * speeds[speed]);
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
  const said = hands.playing ? "Pause" : invites ? "Play the race" : "Play";
  button.replaceChildren(icon(hands.playing ? "pause" : "play"), invites ? said : "");
  button.setAttribute("aria-label", said);
}

export function showSpeed() {
  const said = spoken(speeds[speed]);
  $("[data-race=speed]").textContent = fraction(speeds[speed]) + " ×";
  $("[data-race=speed]").setAttribute(
    "aria-label",
    "Speed: " + said + ". Press for " + spoken(speeds[(speed + 1) % speeds.length]),
  );
  if (story.over) $(".sv-race-sub").textContent = "· measured times, " + said;
}

/** @type {Record<string, () => void>} */
const ACTS = {
  again: () => {
    seek(0);
    play();
  },
  play: () => (hands.playing ? pause() : play()),
  speed: () => {
    speed = (speed + 1) % speeds.length;
    showSpeed();
    if (!hands.playing) return;
    pause();
    play();
  },
  reveal: () => withhold(false),
};

/** @param {string} name */
export const act = (name) => story.lanes.size && ACTS[name]();

// A new race: it plays once as soon as it is in view. With reduced motion it is shown at its end, and
// can be played.
export function present() {
  const fits = fitting(longest());
  speeds = [...new Set([fits / 2, fits, fits < 1 ? Math.min(4 * fits, 1) : 2 * fits, 1])];
  speeds.sort((one, other) => one - other);
  speed = speeds.indexOf(fits);
  showSpeed();
  hands.due = !calm.matches;
  invites = calm.matches;
  showPlay();
  withhold(hands.due);
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
