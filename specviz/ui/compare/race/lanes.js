// The lanes, plain decoding first: name, tokens so far, a bar of passes to scale, and a line of the
// last words; on demand the whole text, whose unreached words keep their place unseen. Either way
// nothing moves while it replays.

import { el, flat, mark, running, startsSpaced } from "../../shared/dom.js";
import { there } from "../../shared/there.js";
import { called, passesBy, plainFirst, story, tokensBy } from "./lines.js";
import { $ } from "./stage.js";
import { clocked } from "./words.js";

/** @import { Lane, LaneFacts, Row, Token } from "./data.js" */

const PROMPT_SHOWN = 80; // letters of the prompt before each text; of a longer one, its end
/** @type {Map<string, Row>} */
export const rows = new Map(); // by lane: what of its row changes

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
    state: el("span", "sv-race-state", "waits for its turn"),
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

// The lane is over: its whole text is laid out.
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
  const spaced = startsSpaced(pieces); // the underline is the word's
  if (spaced) made.text.append(" ");
  const token = el(
    "span",
    "sv-race-word sv-race-" + kind + " sv-race-unseen",
    running(spaced ? pieces.slice(1) : pieces),
  );
  if (kind === "recovered" || kind === "bonus") {
    const end = token.querySelector("br"); // the mark stands on the line that this ends
    const sign = there(mark(kind));
    if (end) end.before(sign);
    else token.append(sign);
  }
  if (flat(pieces).length < 24) token.classList.add("sv-race-brief"); // its mark stays with it
  made.text.append(token);
  made.words.push(token);
}

// Where a text first differs from plain decoding's.
export function showParting() {
  for (const lane of story.whole ? story.whole.lanes : []) {
    const made = rows.get(lane.name),
      at = lane.equality.position;
    const token = made && at !== null && at !== undefined ? made.words[at] : null;
    if (!token) continue;
    token.classList.add("sv-race-parts");
    token.title = "From here on it is not plain decoding's text.";
  }
}

// A lane at a moment: only what has changed since the last one is touched.
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

// The lane that runs now, or waits: what is known of it before it ends.
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
      : "waits for its turn"
    : now.seconds === null
      ? "warms up"
      : "runs now, " + clocked(now.seconds);
}
