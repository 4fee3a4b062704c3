// The layout of the player depends on its own width (not on the window's, since the page may be
// zoomed). What a round will need is reserved from its first step on, so that nothing moves while
// stepping.

import { byId, flat } from "../shared/dom";
import { required } from "../shared/required";
import { frameAt, player, stepsOf } from "./state";
import { measure } from "./room";
import { $, stage } from "./stage";

import type { TurnBlock } from "../../frames/tree.py";
import type { Part } from "../../texts/__init__.py";

const ONE_PART = ".sv-presents, .sv-large.sv-in-lesson"; // in a low window, see 73-present.css

let fitted = ""; // the size that is laid out
let ease = 1; // below 0 if the window is very low, 1 if there is space for wide margins

/**
 * Lay out the player if the size for it has changed; return whether it has. Widths are read before
 * anything is written that changes heights only, so that the layout is computed once.
 */
export function fit() {
  const root = $(".sv");
  const width = root.clientWidth;
  if (!width) return false; // another tab is open
  const zoom = root.getBoundingClientRect().width / width;
  // Notices above the run reduce the run's own margins.
  const height = Math.round((innerHeight - heightAbove()) / zoom);
  const slim = width <= 728; // then the page scrolls, whatever its height
  const onePart = innerHeight <= 950 && document.body.matches(ONE_PART);
  const size = [width, slim || height, onePart].join();
  if (size === fitted) return false;
  fitted = size;
  // A low window has no height for one column, so it gets two, with a list in place of the tree,
  // or one part at a time, which has the whole width.
  const one = slim || (width < 880 && height >= 750);
  root.classList.toggle("sv-one", one);
  root.classList.toggle("sv-tight", !one && width < 1216);
  root.classList.toggle("sv-brief", !one && width < 880);
  root.classList.toggle("sv-listed", !one && width < 880 && !onePart);
  root.classList.toggle("sv-slim", slim);
  root.classList.toggle("sv-high", !one && height >= 1010);
  root.style.setProperty(
    "--cols",
    String(Math.min(7, Math.max(3, Math.floor((width - 460) / 92)))),
  );
  ease = slim ? 1 : easeAt(height);
  measure();
  if (player.run) reserveText();
  return true;
}

/** Apply margins that `fit` has computed; this changes the layout. */
export const setMargins = () => $(".sv").style.setProperty("--k", ease.toFixed(3));

// In a low window there is no extra line; in a higher one margins grow.
const EASE = [
  [560, -0.3],
  [600, -0.26],
  [700, 0.08],
  [750, 0.26],
  [1010, 1],
];
const ABOVE = [".sv-notice", ".sv-again", ".sv-strange", ".sv-unrun", ".sv-repeat", ".sv-fork"];
const FORM = 48; // px of the row on top, which most steps of a lesson hide

// Return the height of the line above the top row, of a lesson's panel, and of the notices above the
// text.
function heightAbove() {
  const all = [byId("sv-intro"), byId("sv-lesson"), ...ABOVE.map((name) => $(name))];
  const { classList } = document.body;
  const formHidden = classList.contains("sv-in-lesson") && !classList.contains("sv-lesson-form");
  return all.reduce(
    (sum, each) => sum + (each ? each.getBoundingClientRect().height : 0),
    formHidden ? -FORM : 0,
  );
}

/** Lay out the player anew when it is next drawn, because the mode has changed. */
export function forgetSize() {
  fitted = "";
}

function easeAt(height: number) {
  const above = EASE.findIndex(([at]) => at >= height);
  if (above <= 0) return above ? 1 : EASE[0][1];
  const [[from, less], [to, more]] = EASE.slice(above - 1, above + 1);
  return less + ((height - from) / (to - from)) * (more - less);
}

// Return by how much figures are drawn lower than their layout, which depends on the height of the
// window.
export const squash = () => 0.73 + 0.27 * ease;

// Lay out the player for its size, now and after every change; then call `paint`.
export function showSize(paint: () => void) {
  const refit = () => {
    if (!fit()) return;
    setMargins();
    paint();
  };
  refit();
  const observer = new ResizeObserver(refit);
  observer.observe(stage.element);
  const intro = byId("sv-intro"); // putting it away leaves the player's own size as it is
  if (intro) observer.observe(intro);
  window.addEventListener("resize", refit);
}

// Without sampling there is no table of a rejection. The narrow tree has a row for every position,
// and one for the round's last token; the narrow sentence has as many lines as the round's longest
// one.
const LINE = 46; // minimum characters of a sentence on a narrow line

export function reserve(round: number) {
  const frames = Array.from({ length: stepsOf(round) }, (_, step) => frameAt(round, step));
  const most = Math.max(3, ...frames.map((frame) => linesOf(letters(frame.caption.parts), LINE)));
  $(".sv-caption").style.setProperty("--lines", String(most));
  $(".sv-evidence").classList.toggle("sv-coinless", required(player.run).greedy);
  const nodes = Object.values(frames[frames.length - 1].tree.nodes);
  const deepest = Math.max(0, ...nodes.map((node) => node.depth));
  $(".sv-list").style.setProperty("--rows", String(deepest + 1));
}

// From the first step on, the strip is as high as the text of the run will be, up to three lines
// (two in a low window).
const mostLines = () => (ease < 0.2 || $(".sv").matches(".sv-slim") ? 2 : 3);

export function reserveText() {
  const { prompt, settings, turns } = required(player.run);
  const brought = player.rounds.flatMap((each) => each.brings.map(([pieces]) => flat(pieces)));
  const limit = Math.min(Number(settings.max_new_tokens), 1000); // as many fill the strip
  const ahead = player.finished ? 0 : Math.max(0, limit - brought.length);
  // Text still to come, and the space of edges and marks of a round's guesses.
  const given = turns.length ? turns.map(turnText).join("\n") : prompt;
  const text = given + brought.join("") + " word".repeat(ahead + 5);
  const wide = ($(".sv-text").clientWidth || 1184) / 8.4;
  const each = text.replaceAll("␣", " ").split(/[\n↵]+/);
  const needed = each.reduce((sum, line) => sum + linesOf(line, wide), 0);
  const most = mostLines();
  $(".sv-strip").style.setProperty("--text", String(Math.min(needed, most)));
}

// Return a turn as text for counting lines: its speaker, and characters for its frame; the
// template's own line breaks are ignored.
const turnText = ({ role, parts }: TurnBlock) =>
  role +
  "  " +
  parts.map(({ is, t }) => (is === "typed" ? t : t.replaceAll("\n", " ") + " ")).join("");

const letters = (parts: Part[]) =>
  parts
    .map((each) =>
      typeof each === "string" ? each : each.w ? "[" + flat(each.w) + "]" : each.t || each.n,
    )
    .join("");

/** Return how many lines a text fills with this many characters per line; longer words are broken. */
export function linesOf(text: string, wide: number) {
  let lines = 1;
  let used = 0;
  for (const word of text.split(" ")) {
    const fits = used + word.length <= wide;
    lines += (used && !fits ? 1 : 0) + Math.max(0, Math.ceil(word.length / wide) - 1);
    used = (fits ? used : 0) + word.length + 1;
  }
  return lines;
}
