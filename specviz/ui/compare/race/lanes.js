// The lanes, plain decoding first: name, tokens so far, a bar of its passes to scale, and its last
// words, or its whole text on demand. Words still to come are invisible but keep their space, so
// nothing moves during a replay.

import { el, flat, mark, running, startsSpaced } from "../../shared/dom.js";
import { there } from "../../shared/there.js";
import { called, passesBy, plainFirst, story, tokensBy } from "./lines.js";
import { $ } from "./stage.js";
import { clocked } from "./words.js";

/** @import { Lane, LaneFacts, Row, Token } from "./data.js" */

const PROMPT_SHOWN = 80; // characters of the prompt shown before each text; a longer one is cut at its start
/** @type {Map<string, Row>} */
export const rows = new Map(); // by lane: the parts of its row that change

export function showLanes() {
  rows.clear();
  $(".sv-race-lanes").replaceChildren(...plainFirst(there(story.race).lanes).map(row));
}

/** @param {LaneFacts} lane */
function row(lane) {
  const made = {
    root: el(
      "article",
      "sv-race-row sv-race-lane sv-race-lane-" + (lane.name === "plain" ? "plain" : "drafts"),
    ),
    count: el("b", "", "0"),
    noun: el("span", "", "tokens"),
    bar: el("div", "sv-race-bar"),
    text: el("span", "sv-race-run"),
    state: el("span", "sv-race-state", "waiting"),
    /** @type {HTMLElement[]} */
    words: [],
    passes: -1,
    tokens: -1,
  };
  rows.set(lane.name, made);
  made.text.append(prompt());
  made.root.append(
    el("div", "sv-race-name", el("h3", "", lane.title), el("p", "", lane.said)),
    el("div", "sv-race-count", made.count, made.noun),
    el(
      "div",
      "sv-race-body",
      el("div", "sv-race-track", made.bar, made.state),
      el("p", "sv-race-text", made.text),
    ),
  );
  made.root.setAttribute("aria-label", called(lane.name));
  return made.root;
}

function prompt() {
  const whole = there(story.race).prompt,
    cut = whole.length > PROMPT_SHOWN;
  const made = el(
    "span",
    "sv-race-prompt",
    cut ? "… " + whole.slice(-PROMPT_SHOWN).replace(/^\S*\s+/, "") : whole,
  );
  if (cut) made.title = whole;
  return made;
}

// The lane has ended: add its whole text.
/** @param {string} name */
export function fillLane(name) {
  const made = rows.get(name),
    lane = story.lanes.get(name);
  if (!made || !lane || made.lane === lane) return;
  Object.assign(made, { lane, passes: -1, tokens: -1, words: [] });
  const asked = prompt();
  if (lane.chat) asked.classList.add("sv-race-asked");
  made.text.replaceChildren(asked);
  for (const token of lane.brought.flat()) addWord(made, token);
  made.state.textContent = clocked(lane.end);
}

/** @param {Row} made @param {Token} token */
function addWord(made, [pieces, kind]) {
  const spaced = startsSpaced(pieces); // underline the word without its space
  if (spaced) made.text.append(" ");
  const token = el(
    "span",
    "sv-race-word sv-race-" + kind + " sv-race-unseen",
    running(spaced ? pieces.slice(1) : pieces),
  );
  if (kind === "recovered" || kind === "bonus") {
    const end = token.querySelector("br"); // put the mark before the line break
    const sign = there(mark(kind));
    if (end) end.before(sign);
    else token.append(sign);
  }
  if (flat(pieces).length < 24) token.classList.add("sv-race-brief"); // keep its mark on the same line
  made.text.append(token);
  made.words.push(token);
}

// Mark where a text first differs from plain decoding's.
export function showParting() {
  for (const lane of story.whole ? story.whole.lanes : []) {
    const made = rows.get(lane.name),
      at = lane.equality.position;
    const token = made && at !== null && at !== undefined ? made.words[at] : null;
    if (!token) continue;
    token.classList.add("sv-race-parts");
    token.title = "From here on, the text differs from plain decoding’s.";
  }
}

// Show a lane at a moment; update only what has changed.
/** @param {Row} made @param {Lane} lane @param {number} seconds */
export function showLane(made, lane, seconds) {
  const passes = passesBy(lane, seconds);
  if (passes === made.passes) return;
  made.passes = passes;
  const tokens = tokensBy(lane, passes),
    before = Math.max(0, made.tokens);
  for (let at = before; at < tokens; at += 1) made.words[at].classList.remove("sv-race-unseen");
  for (let at = tokens; at < before; at += 1) made.words[at].classList.add("sv-race-unseen");
  if (made.newest) made.newest.classList.remove("sv-race-newest");
  made.newest =
    tokens < made.words.length ? made.words[tokens - 1] || made.text.firstElementChild : null;
  if (made.newest) made.newest.classList.add("sv-race-newest");
  made.count.textContent = String(tokens);
  made.noun.textContent = tokens === 1 ? "token" : "tokens";
  made.tokens = tokens;
}

// Show what is known of a lane before it ends.
/** @param {string} name */
export function showWaiting(name) {
  const made = there(rows.get(name)),
    now = story.now && story.now.lane === name && !story.over ? story.now : null;
  made.root.classList.toggle("sv-race-runs", Boolean(now));
  if (made.lane) return;
  made.count.textContent = String(now ? now.tokens : 0);
  made.noun.textContent = now && now.tokens === 1 ? "token" : "tokens";
  made.state.textContent = !now
    ? story.over
      ? "did not run"
      : "waiting"
    : now.seconds === null
      ? "warming up"
      : "running, " + clocked(now.seconds);
}
