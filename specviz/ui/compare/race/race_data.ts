// The race as data of files: its numbers, a row per lane in the order of the table; all passes as JSON;
// and the lines that replay it. The numbers are those that the page has, which the table rounds.

import { typed } from "../../shared/dom";
import { required } from "../../shared/required";
import { factsOf, plainFirst, story } from "./lines";

import type { DataRow } from "../../shared/data_file";
import type { Part } from "../../../compare/summary.py";
import type { LaneNumbers, Line } from "./lines.py";

/** Return the name of a file with the race, without its ending. */
export function raceName() {
  const { source, id } = required(story.race);
  return source === "recorded" ? "race-" + id : "live-race";
}

/** What is on screen, for a picture. */
export function aboutRace() {
  const { source, where, settings } = required(story.race);
  return { file: raceName(), facts: [source, where, settings] };
}

// Return the median, or the smaller of two. The table shows the run with this time.
const median = (seconds: number[]) =>
  [...seconds].sort((a, b) => a - b)[(seconds.length - 1) >> 1] ?? null;

const plainText = (part: Part) => (typeof part === "string" ? part : (part.n ?? part.b));

const laneNumbers = () => plainFirst(required(story.whole).lanes);

/** A lane's numbers; null where the table has none. */
function numbersOf(lane: LaneNumbers): DataRow {
  const { name, costs, equality, noise } = lane;
  const { title, shape } = factsOf(name);
  const ran = story.lanes.get(name);
  const [lowest, highest] = lane.speedups ?? [null, null];
  const isPlain = name === "plain";
  return {
    lane: name,
    drafter: title,
    draft: shape,
    rule: isPlain ? null : lane.rule,
    place_in_order: required(story.race).order.indexOf(name) + 1,
    tokens: ran?.counts.at(-1) ?? 0,
    target_passes: ran?.passes.length ?? 0,
    measured_runs: lane.runs.length,
    median_run_seconds: median(lane.runs),
    tokens_per_second: lane.tokens_per_second,
    speedup_times_plain: noise ? null : lane.speedup,
    lowest_speedup_times_plain: noise ? null : lowest,
    highest_speedup_times_plain: noise ? null : highest,
    too_noisy: noise,
    tokens_per_round: lane.brings,
    cost_per_round_plain_tokens: costs?.total ?? null,
    drafting_plain_tokens: costs?.draft ?? null,
    target_pass_plain_tokens: costs?.target ?? null,
    judging_and_caches_plain_tokens: costs?.overhead ?? null,
    reading_the_prompt_plain_tokens: costs?.prefill ?? null,
    guesses_per_round: lane.guesses,
    alpha: lane.alpha,
    flops_per_token: lane.flops_per_token,
    extra_files_bytes: lane.bytes,
    held_in_memory_bytes: lane.held_bytes,
    text_compared: isPlain ? null : equality.verdict,
    first_different_token: equality.position === null ? null : equality.position + 1,
  };
}

/** Counts by depth as columns. */
const depthColumns = ({ depths }: LaneNumbers): DataRow =>
  Object.fromEntries(
    depths.flatMap(({ positions, kept }, at) => [
      ["depth_" + (at + 1) + "_positions", positions],
      ["depth_" + (at + 1) + "_accepted", kept],
    ]),
  );

/** Columns with equal values in all lanes, so that tables of races can be joined. */
function raceColumns(): DataRow {
  const { source, id, prompt, where, settings } = required(story.race);
  return { race: source === "recorded" ? id : null, source, where, settings, prompt };
}

/** A row per lane. */
export const raceRows = (): DataRow[] =>
  laneNumbers().map((lane) => ({ ...numbersOf(lane), ...raceColumns(), ...depthColumns(lane) }));

/** The race with all its passes; their seconds are rounded to a millionth. */
export function raceData() {
  const { headline, caution, texts } = required(story.whole);
  return {
    ...raceColumns(),
    order: required(story.race).order,
    headline,
    caution,
    texts_are_the_same: texts.same,
    texts: texts.sentence_parts.map(plainText).join(""),
    lanes: laneNumbers().map((lane) => ({
      ...numbersOf(lane),
      runs_seconds: lane.runs,
      explanation: lane.sentence_parts.map(plainText).join(""),
      depths: lane.depths.map(({ positions, kept }) => ({ positions, accepted: kept })),
      passes: passesOf(lane.name),
    })),
  };
}

function passesOf(name: string) {
  const { passes = [], brought = [] } = story.lanes.get(name) ?? {};
  return passes.map(([drafting, target, rest], at) => ({
    drafting_seconds: drafting,
    target_pass_seconds: target,
    other_seconds: rest,
    tokens: brought[at].map(([pieces, state]) => ({ text: typed(pieces), state })),
  }));
}

/** The lines of the race so far, as those of a recorded race. */
export function recordedLines(): Line[] {
  const lanes = [...story.lanes.values()].map(({ name, chat, passes, brought }) => {
    return { kind: "ended", lane: name, chat, passes, brought } as Line;
  });
  const whole = required(story.whole);
  return [{ ...required(story.race), source: "recorded" }, ...lanes, { kind: "summary", whole }];
}
