// The state of the race shown, built from its append-only lines.

import { isLast, newLines } from "../../shared/job.js";
import { there } from "../../shared/there.js";

/** @import { EndedLine, Lane, LaneFacts, Line, Now, RaceLine, Whole } from "./data.js" */

/**
 * whole: the numbers so far. mine: the lines belong to the race shown.
 * @type {{
 *   race: RaceLine | null,
 *   whole: Whole | null,
 *   lanes: Map<string, Lane>,
 *   now: Now | null,
 *   text: string,
 *   mine: boolean,
 *   over: boolean,
 * }}
 */
export const story = {
  race: null,
  whole: null,
  lanes: new Map(),
  now: null,
  text: "",
  mine: false,
  over: false,
};

// A finished lane, with seconds and tokens after every pass.
/** @param {EndedLine} line @returns {Lane} */
function laid(line) {
  /** @type {number[]} */
  const ends = [];
  /** @type {number[]} */
  const counts = [];
  let seconds = 0,
    tokens = 0;
  line.passes.forEach((parts, index) => {
    seconds += parts[0] + parts[1] + parts[2];
    tokens += line.brought[index].length;
    ends.push(seconds);
    counts.push(tokens);
  });
  return {
    name: line.lane,
    passes: line.passes,
    chat: line.chat,
    brought: line.brought,
    ends,
    counts,
    end: seconds,
  };
}

// How many passes have ended at this time.
/** @param {Lane} lane @param {number} seconds */
export function passesBy(lane, seconds) {
  let low = 0,
    high = lane.ends.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.ends[middle] <= seconds + 1e-9) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** @param {Lane} lane @param {number} passes */
export const tokensBy = (lane, passes) => (passes ? lane.counts[passes - 1] : 0);
export const longest = () => Math.max(0, ...[...story.lanes.values()].map((lane) => lane.end));
/** @param {string} name @returns {LaneFacts} */
export const factsOf = (name) =>
  there(story.race).lanes.find((lane) => lane.name === name) || { name, title: name, said: "" };

// The lanes, plain decoding first.
/** @template {{ name: string }} Named @param {Named[]} lanes */
export const plainFirst = (lanes) => [
  ...lanes.filter(({ name }) => name === "plain"),
  ...lanes.filter(({ name }) => name !== "plain"),
];

// A lane's title, with its settings if another lane has the same title.
/** @param {string} name */
export function called(name) {
  const lane = factsOf(name);
  const twin = there(story.race).lanes.some(
    (other) => other !== lane && other.title === lane.title,
  );
  return twin ? lane.title + " (" + lane.said + ")" : lane.title;
}

// The listener of new lines: `line` is called for each, then `race` once if another race has started,
// and `lines` with all of them if they belong to the race shown.
/**
 * @type {{
 *   line: (line: Line) => void,
 *   race: (race: RaceLine) => void,
 *   lines: (told: Line[]) => void,
 * }}
 */
let hearer = { line() {}, race() {}, lines() {} };

/** @param {typeof hearer} shows */
export function onNews(shows) {
  hearer = shows;
}

// Take in the text of a race. Text that does not continue the last one belongs to another race.
/** @param {string} text */
export function feed(text) {
  const grown = story.text !== "" && text.startsWith(story.text);
  /** @type {Line[]} */
  const told = newLines(text, story.text);
  story.text = text;
  story.mine = story.mine && grown;
  for (const line of told) {
    take(line);
    hearer.line(line);
  }
  if (told.some((line) => line.kind === "race")) hearer.race(there(story.race));
  if (!story.mine || !told.length) return; // status lines before the race: keep showing the old one
  if (there(story.race).source === "recorded" || told.some(isLast)) story.over = true;
  hearer.lines(told);
}

/** @param {Line} line */
function take(line) {
  if (line.kind === "race")
    Object.assign(story, {
      race: line,
      whole: null,
      lanes: new Map(),
      now: null,
      over: false,
      mine: true,
    });
  else if (line.kind === "started")
    story.now = {
      lane: line.lane,
      place: line.place,
      turn: line.turn,
      done: false,
      tokens: 0,
      seconds: null,
    };
  else if (line.kind === "progress")
    Object.assign(story.now || {}, { tokens: line.tokens, seconds: line.seconds });
  else if (line.kind === "ended") {
    story.lanes.set(line.lane, laid(line));
    Object.assign(story.now || {}, { done: true });
  } else if (line.kind === "told") story.whole = line.whole;
}
