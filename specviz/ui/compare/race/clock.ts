// The clock of the replay. Web animations move the playhead and reveal the bars; the script updates
// counts and words only in frames in which a pass has ended.

import { longest, stage, story } from "./lines";

const BRIEF = 3,
  LONG = 4.5; // minimum and maximum seconds of a replay at its first speed
const STEP = 500; // ms between pictures if the visitor prefers reduced motion
const calm = matchMedia("(prefers-reduced-motion: reduce)");

export const replay = {
  width: 0, // width of the bars, in px
  playing: false,
  due: false, // whether the replay should start when it is in view
  inView: false,
  withheld: false, // whether the result is hidden until a replay has shown it
  invites: false, // the button has its longer label: reduced motion, nothing has moved yet
  announced: 0, // the time that is read aloud, which does not change during a replay
  speeds: [1], // speeds to choose from, relative to real time, slowest first
  speed: 0, // index of the chosen speed
};
let lead: Animation | null = null; // the animation whose time counts; the others follow it
let others: Animation[] = [];
let timer = 0; // the timer of pictures with reduced motion
let show = () => {};

/** Call `listener` whenever the time or the state of the replay changes. */
export const onChange = (listener: () => void) => {
  show = listener;
};

// Return the largest of 1, 1.5, 2, 3, 4, 6, 8 … that is at most this number (1 or more).
function roundDown(most: number) {
  const two = 2 ** Math.floor(Math.log2(most));
  return most < 1.5 * two ? two : 1.5 * two;
}

// Return the speed at which a race of this many seconds takes 3 to 4.5 seconds.
const fittingSpeed = (seconds: number) =>
  seconds > BRIEF ? roundDown(seconds / BRIEF) : 1 / roundDown(LONG / Math.max(seconds, 1e-4));

export const time = () => (lead ? Math.min(Number(lead.currentTime) / 1000, longest()) : 0);
export const hasStarted = () => lead !== null;
const isAtEnd = () => time() >= longest() - 1e-6;
const animations = () => (lead ? [lead, ...others] : []);

// Build the animations for the current bars, at this time.
export function wind(seconds: number) {
  for (const each of animations()) each.cancel();
  const slide = [
    { transform: "translateX(0)" },
    { transform: "translateX(" + replay.width + "px)" },
  ];
  const uncover = [{ clipPath: "inset(0 100% 0 0)" }, { clipPath: "inset(0 0 0 0)" }];
  const timing: KeyframeEffectOptions = {
    duration: Math.max(longest(), 1e-3) * 1000,
    fill: "both",
  };
  const animated = (selector: string, frames: Keyframe[]) =>
    stage
      .all(selector)
      .map((element) => new Animation(new KeyframeEffect(element, frames, timing)));
  lead = new Animation(new KeyframeEffect(null, null, timing));
  others = story.lanes.size
    ? [...animated(".sv-race-past", uncover), ...animated(".sv-race-playhead, .sv-race-pin", slide)]
    : [];
  turn(seconds);
}

// Set all animations to one time, paused.
function turn(seconds: number) {
  const to = 1000 * Math.max(0, Math.min(seconds, longest()));
  for (const each of animations()) {
    each.pause();
    each.currentTime = to;
  }
}

function update() {
  if (!replay.playing) replay.announced = time();
  if (story.over && isAtEnd()) replay.withheld = false;
  show();
}

export function seek(seconds: number) {
  if (!lead) return;
  Object.assign(replay, { due: false, playing: false });
  clearTimeout(timer);
  turn(seconds);
  update();
}

export function play() {
  if (!lead || replay.playing || !story.over || !longest()) return;
  if (isAtEnd()) turn(0);
  Object.assign(replay, { due: false, invites: false, playing: true });
  update();
  if (calm.matches) {
    playStills();
    return;
  }
  const from = lead.currentTime;
  for (const each of animations()) {
    each.playbackRate = replay.speeds[replay.speed];
    each.play();
    each.currentTime = from;
  }
  requestAnimationFrame(tick);
}

function tick() {
  if (!replay.playing) return;
  if (isAtEnd()) pause();
  else {
    update();
    requestAnimationFrame(tick);
  }
}

// Play with reduced motion: one picture every half second.
function playStills() {
  timer = setTimeout(() => {
    turn(time() + (STEP / 1000) * replay.speeds[replay.speed]);
    if (isAtEnd()) pause();
    else {
      update();
      playStills();
    }
  }, STEP);
}

export function pause() {
  clearTimeout(timer);
  replay.playing = false;
  if (lead) turn(time());
  update();
}

/** Build the animations again for new bars. */
export function rewind(seconds: number) {
  const { playing } = replay;
  clearTimeout(timer);
  replay.playing = false;
  wind(seconds);
  update();
  if (playing) play();
}

const ACTS: Record<string, () => void> = {
  again: () => {
    seek(0);
    play();
  },
  play: () => (replay.playing ? pause() : play()),
  speed: () => {
    replay.speed = (replay.speed + 1) % replay.speeds.length;
    if (!replay.playing) return update();
    pause();
    play();
  },
  reveal: () => {
    replay.withheld = false;
    update();
  },
};

export const act = (name: string) => story.lanes.size && ACTS[name]();

// Show a new race: it is replayed once when it is in view. With reduced motion, its end is shown,
// and it can be replayed.
export function present() {
  const fits = fittingSpeed(longest());
  const speeds = [...new Set([fits / 2, fits, fits < 1 ? Math.min(4 * fits, 1) : 2 * fits, 1])];
  speeds.sort((one, other) => one - other);
  seek(calm.matches ? longest() : 0);
  Object.assign(replay, {
    speeds,
    speed: speeds.indexOf(fits),
    due: !calm.matches,
    invites: calm.matches,
    withheld: !calm.matches,
  });
  update();
  playIfInView();
}

export function playIfInView() {
  if (replay.due && replay.inView && document.visibilityState === "visible") play();
}
