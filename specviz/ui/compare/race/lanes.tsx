// The lanes, plain decoding first: name, tokens so far, a bar with its passes to scale, and its
// last words, or on request its whole text. Words that are not generated yet are invisible but take
// their space, so nothing moves during a replay.

import { flat, startsSpaced } from "../../shared/dom";
import { required } from "../../shared/required";
import { breaksLine, classes, Component, Mark, runningPieces } from "../../shared/view";
import { replay } from "./clock";
import { PassBars } from "./pass_bars";
import { longest, plainFirst, story, titleOf, tokensBy } from "./lines";
import { inSeconds } from "./words";

import type { ComponentChild } from "preact";
import type { Lane, Now } from "./lines";
import type { LaneFacts, RaceLine, Token } from "./lines.py";

const PROMPT_SHOWN = 80; // characters of the prompt before each text; longer ones are cut at the start
const BRIEF = 24; // characters of a word that is kept on one line with its mark

/**
 * Create a component that is rendered again only if one of its properties has changed, since a
 * replay renders the lanes in every frame.
 */
const memo = <Props extends object>(view: (props: Props) => ComponentChild) =>
  class extends Component<Props> {
    shouldComponentUpdate(next: Props) {
      const now = this.props as Props;
      return (Object.keys(next) as (keyof Props)[]).some((name) => next[name] !== now[name]);
    }

    render() {
      return view(this.props);
    }
  };

export function Lanes(seconds: number) {
  const race = required(story.race);
  return plainFirst(race.lanes).map((facts) => {
    const lane = story.lanes.get(facts.name) ?? null;
    const now = !story.over && story.now?.lane === facts.name ? story.now : null;
    const equality = story.whole?.lanes.find(({ name }) => name === facts.name)?.equality;
    return (
      <LaneRow
        key={race.id + " " + facts.name}
        race={race}
        facts={facts}
        lane={lane}
        tokens={lane ? tokensBy(lane, seconds) : (now?.tokens ?? 0)}
        runs={now !== null}
        state={lane ? inSeconds(lane.end) : waitingText(now)}
        partsAt={(story.over ? equality?.position : null) ?? -1}
        width={replay.width}
        end={longest()}
      />
    );
  });
}

function waitingText(now: Now | null) {
  if (!now) return story.over ? "did not run" : "waiting";
  return now.seconds === null ? "warming up" : "running, " + inSeconds(now.seconds);
}

/**
 * runs: whether the lane runs now. state: text beside its bar. partsAt: index of the first token
 * that differs from plain decoding's; -1 for none. width: width of the bars, for `end` seconds.
 */
export interface Row {
  race: RaceLine;
  facts: LaneFacts;
  /** Its results; null before it has finished. */
  lane: Lane | null;
  tokens: number;
  runs: boolean;
  state: string;
  partsAt: number;
  width: number;
  end: number;
}

const LaneRow = memo(({ race, facts, lane, tokens, runs, state, partsAt, width, end }: Row) => {
  const kind = "sv-race-lane-" + (facts.name === "plain" ? "plain" : "drafts");
  const scale = width && end ? width / end : 0;
  const left = lane && scale ? { left: Math.round(lane.end * scale) + 4 + "px" } : undefined;
  return (
    <article
      class={classes("sv-race-row sv-race-lane", kind, runs && "sv-race-runs")}
      aria-label={titleOf(facts.name)}
    >
      <div class="sv-race-name">
        <h3>{facts.title}</h3>
        <p>{facts.shape}</p>
      </div>
      <div class="sv-race-count">
        <b>{tokens}</b>
        <span>{tokens === 1 ? "token" : "tokens"}</span>
      </div>
      <div class="sv-race-body">
        <div class="sv-race-track">
          <div class="sv-race-bar">{lane && scale ? PassBars(lane, scale, width) : null}</div>
          <span class="sv-race-state" style={left}>
            {state}
          </span>
        </div>
        <p class="sv-race-text">
          <span class="sv-race-run">{LaneText(race, lane, tokens, partsAt)}</span>
        </p>
      </div>
    </article>
  );
});

function LaneText({ prompt }: RaceLine, lane: Lane | null, tokens: number, partsAt: number) {
  const all = lane ? lane.brought.flat() : [];
  const isNewest = (at: number) => at === tokens - 1 && tokens < all.length;
  const cut = prompt.length > PROMPT_SHOWN;
  const start = (
    <span
      class={classes(
        "sv-race-prompt",
        lane?.chat && "sv-race-asked",
        lane && isNewest(-1) && "sv-race-newest",
      )}
      title={cut ? prompt : undefined}
    >
      {cut ? "… " + prompt.slice(-PROMPT_SHOWN).replace(/^\S*\s+/, "") : prompt}
    </span>
  );
  const words = all.flatMap((token, at) => [
    startsSpaced(token[0]) ? " " : null,
    <LaneWord token={token} unseen={at >= tokens} newest={isNewest(at)} parts={at === partsAt} />,
  ]);
  return [start, ...words];
}

/** parts: whether the text differs from plain decoding's from this word on. */
export type Word = { token: Token; unseen: boolean; newest: boolean; parts: boolean };

// A word without the space before it, so that the space is not underlined.
const LaneWord = memo(({ token: [pieces, kind], unseen, newest, parts }: Word) => {
  const shown = startsSpaced(pieces) ? pieces.slice(1) : pieces;
  const sign = kind === "recovered" || kind === "bonus" ? Mark(kind) : null;
  const breaks = breaksLine(shown);
  return (
    <span
      class={classes(
        "sv-race-word sv-race-" + kind,
        flat(pieces).length < BRIEF && "sv-race-brief",
        parts && "sv-race-parts",
        newest && "sv-race-newest",
        unseen && "sv-race-unseen",
      )}
      title={parts ? "From here on, the text differs from plain decoding’s." : undefined}
    >
      <span class="sv-w">
        {runningPieces(shown)}
        {breaks ? [sign, <br />] : []}
      </span>
      {breaks ? null : sign}
    </span>
  );
});
