// The opening: both time rows race over the same text, in the measured times of the recorded run but
// slowed down; then the run plays from the first guesses to the first rejection. Next shows the race's
// result. Any other key or click ends the race and shows the rejection; one that moves through the run
// begins at the first guesses.

import { render } from "../shared/view";
import { Caption } from "./caption";
import { redrawDock } from "./dock";
import { firstRejection, go, player } from "./state";
import { isSimple } from "./mode";
import { moveByItself, play } from "./playback";
import { showLanes } from "./lanes";
import { duration, speedUp, sum, wholeTime } from "./simple_times";
import { $, stage } from "./stage";

const RACE = 7000; // ms for the slower row
const PAUSE = 7500; // ms at the end, to read the result

let stop = () => {};

/** Return whether the run has the times of both rows, and a rejection to show afterwards. */
export const canRace = () =>
  isSimple() && Boolean(player.baseline && firstRejection() && stage.element.offsetParent);

/** Return whether the race is on screen. */
export const isRacing = () => document.body.classList.contains("sv-in-race");

/** Race once, then play to the first rejection. */
export function race() {
  const rejection = firstRejection();
  if (!player.baseline || !rejection) return;
  const whole = Math.max(sum(player.baseline.seconds), wholeTime());
  document.body.classList.add("sv-in-race", RUNS);
  tell(Beginning(whole));
  redrawDock();
  let begun = performance.now();
  let frame = 0;
  const [round] = rejection;
  let at = rejection;
  const draw = (time: number) => {
    const passed = Math.max(0, time - begun);
    showLanes(Math.min(1, passed / RACE) * whole, "race");
    if (passed >= RACE) showResult();
    if (passed > RACE + PAUSE) goOn();
    else frame = requestAnimationFrame(draw);
  };
  const events = new AbortController();
  stop = () => {
    stop = () => {};
    cancelAnimationFrame(frame);
    events.abort();
    document.body.classList.remove("sv-in-race", RUNS);
    go(...at);
  };
  const goOn = () => {
    at = [round, 0];
    moveByItself(stop);
    play(true);
  };
  const end = (event: Event) => {
    if (pressesLater(event) || (event.type === "click" && !isNext(event))) return undefined;
    if (isRunning() && goesOn(event)) {
      begun = performance.now() - RACE;
      event.preventDefault();
      return event.stopPropagation();
    }
    if (moves(event)) at = [round, 0];
    return stop();
  };
  for (const name of ["pointerdown", "keydown", "click"])
    document.addEventListener(name, end, { capture: true, signal: events.signal });
  frame = requestAnimationFrame(draw);
}

const RUNS = "sv-race-runs"; // the class of the body until the result is shown

const isRunning = () => document.body.classList.contains(RUNS);

function showResult() {
  tell(Ending());
  if (!isRunning()) return;
  document.body.classList.remove(RUNS);
  redrawDock();
}

const isNext = (event: Event) => (event.target as Element).closest(".sv-next") !== null;

/** Whether a click or a key asks for the next step. */
const goesOn = (event: Event) =>
  isNext(event) ||
  (event instanceof KeyboardEvent && ["ArrowRight", "PageDown"].includes(event.key));

/** Whether the click that follows is what counts. */
const pressesLater = (event: Event) =>
  isNext(event) &&
  (event.type === "pointerdown" ||
    (event instanceof KeyboardEvent && ["Enter", " "].includes(event.key)));

/** Whether a click or a key is one of those that go on or back in the run. */
const moves = (event: Event) =>
  (event instanceof KeyboardEvent && event.key.startsWith("Arrow")) ||
  (event.target as Element).closest(".sv-buttons button") !== null;

/** End the race, if it is on screen, because something else is shown. */
export const endRace = () => stop();

/** @param whole The duration of the slower row, in seconds. */
const Beginning = (whole: number): Said => {
  const second = duration((1000 * whole) / RACE);
  return [
    "Race",
    `In slow motion: one second here is ${second}. The big model checks every guess and replaces those that it rejects. Words are drawn at random, so alone it might write another text.`,
  ];
};

function Ending(): Said {
  const [ours, theirs] = [player.rounds.length, player.baseline?.seconds.length ?? 0];
  const speed = speedUp();
  const fewer = (theirs / ours).toFixed(1).replace(/\.0$/, "");
  const not = Number(fewer) > Number(speed) ? `, not ${fewer} ×, as guesses take time, too` : "";
  const gain = speed
    ? ` That is ${speed} × faster${not}. Every text stays exactly as likely as from the big model alone: what is guessed too often is discarded, and exactly as much is drawn from what is guessed too rarely.`
    : "";
  return ["Result", `${ours} passes of the big model instead of ${theirs}.${gain}`];
}

type Said = [badge: string, text: string];

function tell([badge, text]: Said) {
  render([<div class="sv-race-said">{Caption("", badge, [text])}</div>], $(".sv-caption"));
}
