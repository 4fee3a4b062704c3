// The lanes, plain decoding first: name, tokens so far, a bar with its passes to scale, and its
// last words, or on request its whole text. Words that are not generated yet are invisible but take
// their space, so nothing moves during a replay.

import { flat, startsSpaced } from "../../shared/dom.js";
import { there } from "../../shared/there.js";
import { breaksLine, classes, Component, h, Mark, runningPieces } from "../../shared/view.js";
import { replay } from "./clock.js";
import { PassBars } from "./pass_bars.js";
import { longest, plainFirst, story, titleOf, tokensBy } from "./lines.js";
import { inSeconds } from "./words.js";

/** @import { ComponentChild } from "preact" */
/** @import { Lane, Now } from "./lines.js" */
/** @import { LaneFacts, RaceLine, Token } from "./lines.py" */

const PROMPT_SHOWN = 80; // characters of the prompt before each text; longer ones are cut at the start
const BRIEF = 24; // characters of a word that is kept on one line with its mark

/**
 * Create a component that is rendered again only if one of its properties has changed, since a
 * replay renders the lanes in every frame.
 * @template {Record<string, unknown>} Props
 * @param {(props: Props) => ComponentChild} view
 */
const memo = (view) =>
  /** @extends {Component<Props>} */
  class extends Component {
    /** @param {Props} next */
    shouldComponentUpdate(next) {
      const now = /** @type {Props} */ (this.props);
      return Object.keys(next).some((name) => next[name] !== now[name]);
    }

    render() {
      return view(this.props);
    }
  };

/** @param {number} seconds */
export function Lanes(seconds) {
  const race = there(story.race);
  return plainFirst(race.lanes).map((facts) => {
    const lane = story.lanes.get(facts.name) ?? null;
    const now = !story.over && story.now?.lane === facts.name ? story.now : null;
    const equality = story.whole?.lanes.find(({ name }) => name === facts.name)?.equality;
    return h(LaneRow, {
      key: race.id + " " + facts.name,
      race,
      facts,
      lane,
      tokens: lane ? tokensBy(lane, seconds) : (now?.tokens ?? 0),
      runs: now !== null,
      state: lane ? inSeconds(lane.end) : waitingText(now),
      partsAt: (story.over ? equality?.position : null) ?? -1,
      width: replay.width,
      end: longest(),
    });
  });
}

/** @param {Now | null} now */
function waitingText(now) {
  if (!now) return story.over ? "did not run" : "waiting";
  return now.seconds === null ? "warming up" : "running, " + inSeconds(now.seconds);
}

/**
 * runs: whether the lane runs now. state: text beside its bar. partsAt: index of the first token
 * that differs from plain decoding's; -1 for none. width: width of the bars, for `end` seconds.
 * @typedef {object} Row
 * @property {RaceLine} race
 * @property {LaneFacts} facts
 * @property {Lane | null} lane Its results; null before it has finished.
 * @property {number} tokens
 * @property {boolean} runs
 * @property {string} state
 * @property {number} partsAt
 * @property {number} width
 * @property {number} end
 */

const LaneRow = memo(
  /** @param {Row} row */
  ({ race, facts, lane, tokens, runs, state, partsAt, width, end }) => {
    const kind = "sv-race-lane-" + (facts.name === "plain" ? "plain" : "drafts");
    const scale = width && end ? width / end : 0;
    const left = lane && scale ? { left: Math.round(lane.end * scale) + 4 + "px" } : undefined;
    return h(
      "article",
      {
        class: classes("sv-race-row sv-race-lane", kind, runs && "sv-race-runs"),
        "aria-label": titleOf(facts.name),
      },
      h("div", { class: "sv-race-name" }, h("h3", null, facts.title), h("p", null, facts.shape)),
      h(
        "div",
        { class: "sv-race-count" },
        h("b", null, tokens),
        h("span", null, tokens === 1 ? "token" : "tokens"),
      ),
      h(
        "div",
        { class: "sv-race-body" },
        h(
          "div",
          { class: "sv-race-track" },
          h("div", { class: "sv-race-bar" }, lane && scale ? PassBars(lane, scale, width) : null),
          h("span", { class: "sv-race-state", style: left }, state),
        ),
        h(
          "p",
          { class: "sv-race-text" },
          h("span", { class: "sv-race-run" }, ...LaneText(race, lane, tokens, partsAt)),
        ),
      ),
    );
  },
);

/** @param {RaceLine} race @param {Lane | null} lane @param {number} tokens @param {number} partsAt */
function LaneText({ prompt }, lane, tokens, partsAt) {
  const all = lane ? lane.brought.flat() : [];
  const isNewest = /** @param {number} at */ (at) => at === tokens - 1 && tokens < all.length;
  const cut = prompt.length > PROMPT_SHOWN;
  const start = h(
    "span",
    {
      class: classes(
        "sv-race-prompt",
        lane?.chat && "sv-race-asked",
        lane && isNewest(-1) && "sv-race-newest",
      ),
      title: cut ? prompt : undefined,
    },
    cut ? "… " + prompt.slice(-PROMPT_SHOWN).replace(/^\S*\s+/, "") : prompt,
  );
  const words = all.flatMap((token, at) => [
    startsSpaced(token[0]) ? " " : null,
    h(LaneWord, { token, unseen: at >= tokens, newest: isNewest(at), parts: at === partsAt }),
  ]);
  return [start, ...words];
}

/**
 * parts: whether the text differs from plain decoding's from this word on.
 * @typedef {{ token: Token, unseen: boolean, newest: boolean, parts: boolean }} Word
 */

// A word without the space before it, so that the space is not underlined.
const LaneWord = memo(
  /** @param {Word} word */
  ({ token: [pieces, kind], unseen, newest, parts }) => {
    const shown = startsSpaced(pieces) ? pieces.slice(1) : pieces;
    const sign = kind === "recovered" || kind === "bonus" ? Mark(kind) : null;
    const breaks = breaksLine(shown);
    return h(
      "span",
      {
        class: classes(
          "sv-race-word sv-race-" + kind,
          flat(pieces).length < BRIEF && "sv-race-brief",
          parts && "sv-race-parts",
          newest && "sv-race-newest",
          unseen && "sv-race-unseen",
        ),
        title: parts ? "From here on, the text differs from plain decoding’s." : undefined,
      },
      h(
        "span",
        { class: "sv-w" },
        ...runningPieces(shown),
        ...(breaks ? [sign, h("br", null)] : []),
      ),
      breaks ? null : sign,
    );
  },
);
