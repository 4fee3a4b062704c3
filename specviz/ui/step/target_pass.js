// One target pass: a column per position with the target's likeliest tokens. All of them arrive
// together when the guesses are scored, and each is lit once it has decided something.

import { el, flat, mark, percent, word } from "../shared/dom.js";
import { part } from "./caption.js";
import { link } from "./hover_links.js";
import { squash } from "./size.js";
import { $ } from "./stage.js";

/** @import { Word } from "../shared/data.js" */
/** @import { PassColumn, TargetPass, Tree } from "./data.js" */

// Pixels: headings and notes around the tree, a line that says what of it is not shown, the pass.
const AROUND = 56;
const AROUND_HIGH = 140; // with what is said of the drafter
const MORE = 22;
const HEIGHT = 126;
const COLUMN = 84; // the least width on a narrow page

/** @param {TargetPass | undefined} view @param {Tree} tree */
export function showTargetPass(view, tree) {
  const place = $(".sv-pass");
  const shown = Boolean(view) && fits(tree);
  place.hidden = !shown;
  $(".sv-evidence").classList.toggle("sv-has-pass", shown);
  if (!view || !shown) return;
  $(".sv-pass-say").replaceChildren(...view.say.map(part));
  const columns = $(".sv-pass-columns");
  // On a narrow page they scroll, by keys too.
  columns.toggleAttribute("tabindex", false);
  if ($(".sv").matches(".sv-slim")) columns.tabIndex = 0;
  columns.replaceChildren(...(view.columns || []).map(column));
  const here = (view.columns || []).findIndex((one) => one.here);
  columns.scrollLeft = Math.max(0, here - 2) * COLUMN; // where they are wider than the window
}

// Whether there is room under the tree; where the page has one column there always is.
/** @param {Tree} tree */
function fits(tree) {
  if ($(".sv").matches(".sv-one")) return true;
  const ease = Number($(".sv").style.getPropertyValue("--k"));
  const { layout, more } = tree.figure;
  const high = $(".sv").matches(".sv-high");
  const around = (high ? AROUND_HIGH : AROUND) + (more.deeper || more.lower ? MORE : 0);
  return around + layout.height * squash() + HEIGHT <= 350 + 152 * ease;
}

/** @param {PassColumn} view */
function column(view) {
  const made = el("li", "sv-pass-column", el("span", "sv-unseen", view.label));
  made.dataset.use = view.use;
  made.classList.toggle("sv-pass-here", Boolean(view.here));
  const sign = view.is && view.use === "used" ? mark(view.is) : null;
  const shown = el("div", "", el("span", "sv-pass-at", "+" + view.at, sign), ...rows(view));
  shown.setAttribute("aria-hidden", "true"); // the label says it in order
  made.append(shown);
  return view.node && view.w ? link(made, "node " + view.node, "word " + flat(view.w)) : made;
}

/** @param {PassColumn} view */
function rows(view) {
  const { top, w, rank, p } = view;
  if (!top) return [el("span", "sv-pass-hidden", "after the verdict")];
  const made = top.map(([pieces, chance, text]) => row(pieces, chance, text));
  if (w && p) made.push(row(w, p[0], p[1]));
  if (rank !== undefined && made[rank]) made[rank].classList.add("sv-pass-guess");
  return made;
}

/** @param {Word} pieces @param {number} chance @param {string} text */
function row(pieces, chance, text) {
  const bar = el("i", "sv-pass-bar");
  bar.style.width = percent(chance);
  const words = el("span", "sv-pass-w", word(pieces));
  const made = el("div", "sv-pass-row", words, el("b", "", text), bar);
  made.title = flat(pieces) + " " + text;
  return made;
}
