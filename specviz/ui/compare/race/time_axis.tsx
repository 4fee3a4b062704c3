// The time axis. Its pin is a slider: arrow keys move it to the end of the next pass, a press or a
// drag moves it to the pointer.

import { plural } from "../../shared/dom";
import { act, replay, seek, time } from "./clock";
import { $, isRunning, longest, story, titleOf, tokensBy } from "./lines";
import { inSeconds } from "./words";

const UNITS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500];
const PIN = 34; // px: half of the pin's label, and a margin
const TICK = 40; // px: width of a tick's label

/** @param narrow Whether the screen's edge would cut the pin's label. */
export function TimeAxis(seconds: number, narrow: boolean) {
  const end = longest();
  const x = end ? (seconds / end) * replay.width : 0;
  const shift = narrow ? Math.max(0, PIN - 8 - x) : 0;
  const isCovered = (at: number) => at + TICK > x + shift - PIN && at < x + shift + PIN;
  return [
    <div class="sv-race-ticks">{Ticks(end, isCovered)}</div>,
    <div
      class="sv-race-pin"
      role="slider"
      tabindex={isRunning() ? -1 : 0}
      aria-label="Time of the replay"
      aria-valuemin={0}
      aria-valuemax={Number(end.toFixed(3))}
      aria-valuenow={Number(replay.announced.toFixed(3))}
      aria-valuetext={timeText(replay.announced)}
    >
      <b style={{ marginLeft: shift ? shift + "px" : "" }}>{inSeconds(seconds)}</b>
    </div>,
  ];
}

/** @param isCovered Returns whether the pin's label covers this place, in px. */
function Ticks(end: number, isCovered: (at: number) => boolean) {
  const { width } = replay;
  if (!width || !end) return [];
  const most = width > 600 ? 5 : 3;
  const unit = UNITS.find((each) => end / each <= most) || end;
  const count = Math.floor((end + 1e-9) / unit) + 1;
  return Array.from({ length: count }, (_, number) => {
    const left = ((number * unit) / end) * width;
    return (
      <span class={isCovered(left) ? "sv-race-under" : ""} style={{ left: left + "px" }}>
        {(number * unit).toFixed(unit < 0.1 ? 2 : 1) + " s"}
      </span>
    );
  });
}

function timeText(seconds: number) {
  const lanes = [...story.lanes.values()].map(
    (lane) => titleOf(lane.name) + " " + plural(tokensBy(lane, seconds), "token"),
  );
  return [inSeconds(seconds) + " of " + inSeconds(longest()), ...lanes].join(", ");
}

// Return the next or previous time at which a pass ends.
function neighbour(seconds: number, way: number) {
  const ends = [...story.lanes.values()].flatMap((lane) => lane.ends);
  return way > 0
    ? Math.min(longest(), ...ends.filter((at) => at > seconds + 1e-6))
    : Math.max(0, ...ends.filter((at) => at < seconds - 1e-6));
}

const STRIDES: Record<string, () => number> = {
  ArrowRight: () => neighbour(time(), 1),
  ArrowUp: () => neighbour(time(), 1),
  ArrowLeft: () => neighbour(time(), -1),
  ArrowDown: () => neighbour(time(), -1),
  PageUp: () => time() + longest() / 10,
  PageDown: () => time() - longest() / 10,
  Home: () => 0,
  End: () => longest(),
};

function onKey(event: KeyboardEvent) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === " ") act("play");
  else if (STRIDES[event.key]) seek(STRIDES[event.key]());
  else return;
  event.preventDefault();
}

// Start to drag the pin, which first moves to the pressed place on the axis.
function onPress(event: PointerEvent) {
  if (event.button !== 0 || !longest()) return;
  $(".sv-race-axis").setPointerCapture(event.pointerId);
  event.preventDefault();
  $(".sv-race-pin").focus({ preventScroll: true });
  onDrag(event);
}

function onDrag({ clientX, pointerId }: PointerEvent) {
  if (!$(".sv-race-axis").hasPointerCapture(pointerId)) return;
  const { left, width } = $(".sv-race-ticks").getBoundingClientRect();
  seek(((clientX - left) / width) * longest());
}

export function startAxis() {
  const axis = $(".sv-race-axis");
  axis.addEventListener("pointerdown", onPress);
  axis.addEventListener("pointermove", onDrag);
  axis.addEventListener("keydown", onKey);
}
