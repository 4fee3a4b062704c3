// The race that is shown, built from its lines.

import { isLast } from "../../shared/job";
import { Stage } from "../../shared/stage";
import { required } from "../../shared/required";

import type { EndedLine, LaneFacts, Line, RaceLine, Result } from "./lines.py";
import type { Config } from "./recorded.py";

/** A finished lane. ends, counts: seconds and tokens so far, after every pass. */
export type Lane = Pick<EndedLine, "chat" | "passes" | "brought"> & {
  name: string;
  ends: number[];
  counts: number[];
  end: number;
};
/** The running lane. done: whether its current turn has ended. seconds: null during the warm-up. */
export type Now = {
  lane: string;
  place: number;
  turn: number;
  done: boolean;
  tokens: number;
  seconds: number | null;
};

export const stage: Stage<Config> = new Stage();
export const { $ } = stage;

/** whole: the numbers so far. mine: whether the lines belong to the race shown. */
export const story = {
  race: null as RaceLine | null,
  whole: null as Result | null,
  lanes: new Map<string, Lane>(),
  now: null as Now | null,
  mine: false,
  over: false,
};

// Return a finished lane, with the seconds and tokens after every pass.
function finishedLane({ lane: name, passes, brought, chat }: EndedLine): Lane {
  const ends: number[] = [];
  const counts: number[] = [];
  let end = 0,
    tokens = 0;
  passes.forEach(([draft, target, rest], index) => {
    end += draft + target + rest;
    tokens += brought[index].length;
    ends.push(end);
    counts.push(tokens);
  });
  return { name, passes, chat, brought, ends, counts, end };
}

// Return how many passes have ended at this time.
export function passesBy(lane: Lane, seconds: number) {
  let low = 0,
    high = lane.ends.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.ends[middle] <= seconds + 1e-9) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Return how many tokens there are at this time.
export const tokensBy = (lane: Lane, seconds: number) =>
  lane.counts[passesBy(lane, seconds) - 1] ?? 0;
export const longest = () => Math.max(0, ...[...story.lanes.values()].map((lane) => lane.end));
/** Return whether a live race is running. */
export const isRunning = () => story.race?.source === "live" && !story.over;
export const factsOf = (name: string): LaneFacts =>
  required(story.race).lanes.find((lane) => lane.name === name) || { name, title: name, shape: "" };

// Return the lanes, plain decoding first.
export const plainFirst = <Named extends { name: string }>(lanes: Named[]) => [
  ...lanes.filter(({ name }) => name === "plain"),
  ...lanes.filter(({ name }) => name !== "plain"),
];

// Return a lane's title, with its settings if another lane has the same title.
export function titleOf(name: string) {
  const lane = factsOf(name);
  const twin = required(story.race).lanes.some(
    (other) => other !== lane && other.title === lane.title,
  );
  return twin ? lane.title + " (" + lane.shape + ")" : lane.title;
}

/**
 * Callbacks: `line` for each new line, then `race` if another race has started, and then `lines`
 * with all new lines of the race shown.
 */
export interface Listener {
  line: (line: Line) => void;
  race: (race: RaceLine) => void;
  lines: (lines: Line[]) => void;
}

// Process new lines; `anew` says that they are the first ones of a job or a recording.
export function feed(lines: Line[], anew: boolean, listener: Listener) {
  story.mine &&= !anew;
  for (const line of lines) {
    take(line);
    listener.line(line);
  }
  if (lines.some((line) => line.kind === "race")) listener.race(required(story.race));
  if (!story.mine || !lines.length) return; // status lines before the race: the old one remains
  if (required(story.race).source === "recorded" || lines.some(isLast)) story.over = true;
  listener.lines(lines);
}

function take(line: Line) {
  if (line.kind === "race") {
    const empty = { whole: null, lanes: new Map(), now: null, over: false };
    Object.assign(story, empty, { race: line, mine: true });
  } else if (line.kind === "started") {
    const { lane, place, turn } = line;
    story.now = { lane, place, turn, done: false, tokens: 0, seconds: null };
  } else if (line.kind === "progress") {
    Object.assign(story.now || {}, { tokens: line.tokens, seconds: line.seconds });
  } else if (line.kind === "ended") {
    story.lanes.set(line.lane, finishedLane(line));
    Object.assign(story.now || {}, { done: true });
  } else if (line.kind === "summary") story.whole = line.whole;
}
