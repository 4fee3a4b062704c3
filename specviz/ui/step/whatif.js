// "What if": another coin, or another guess. What follows at once is known; the rest is a new run
// with these coins set by hand: see branch.js.

import { el, percent } from "../shared/dom.js";
import { there } from "../shared/there.js";
import { branch } from "./branch.js";
import { answerButton, part } from "./caption.js";
import { go } from "./cursor.js";
import { now } from "./now.js";
import { pause } from "./play.js";
import { frameAt, reel, stepName } from "./reel.js";
import { sides } from "./sides.js";
import { $, stage } from "./stage.js";
import { coinTicks } from "./ticks.js";

/** @import { State } from "../shared/data.js" */
/** @import { Chances, Coins, Part, TossedTrial, WhatIf } from "./data.js" */

// A judged guess leads to its verdict; any other asks which coins would lead to it.
/** @param {number} node */
export function pickNode(node) {
  const judged = node < 0 ? "draw" : "judge-" + node;
  for (let step = 0; step <= now.at.step; step += 1) {
    if (stepName(now.at.round, step).id === judged) return go(now.at.round, step);
  }
  const kept = keptWith(node);
  if (kept !== null) return go(now.at.round, kept);
  return node < 0 || now.question ? undefined : wonderAbout(node);
}

// The step whose verdict kept a guess along with a later one; null for any other guess.
/** @param {number} node */
function keptWith(node) {
  if (frameAt(now.at.round, now.at.step).tree.nodes[node]?.is !== "accepted") return null;
  for (let step = now.at.step; step >= 0; step -= 1) {
    if (stepName(now.at.round, step).is === "accepted") return step;
  }
  return null;
}

/** @param {Part[]} parts @param {Coins | null} coins */
function wonder(parts, coins, run = "Run it from here") {
  now.supposed = coins;
  const badge = $(".sv-verdict");
  badge.className = "sv-verdict sv-is-if";
  badge.replaceChildren("What if?");
  // On a narrow page the caption is out of sight while the coin is dragged, so it is repeated there.
  for (const place of [$(".sv-say"), stage.find(".sv-echo")].filter((each) => each !== null)) {
    const buttons = coins ? [answerButton(run, branch)] : [];
    buttons.push(answerButton("Back", () => go(now.at.round, now.at.step)));
    place.replaceChildren(...parts.map(part), " ", el("span", "sv-answers", ...buttons));
  }
}

// Another coin at the verdict on screen: on which side of the threshold it falls is certain.
/** @param {number} u @param {TossedTrial} panel @param {WhatIf} whatif */
function suppose(u, panel, whatif) {
  const { threshold } = panel.coin;
  const kept = u < threshold;
  const digits = digitsApart(u, threshold);
  /** @type {Part[]} */
  const parts = ["With the coin set to ", { n: u.toFixed(digits), as: "u" }];
  if (whatif.stuck) {
    const still = " would still be " + (panel.accepted ? "accepted. " : "rejected. ");
    wonder([...parts, ", ", { w: panel.w }, still, ...whatif.stuck], null);
    return u.toFixed(digits);
  }
  parts.push(kept ? ", below " : ", not below ", { n: said(threshold, digits), as: "both" }, ", ");
  parts.push({ w: panel.w }, kept === panel.accepted ? " would still be " : " would be ");
  parts.push(kept ? "accepted. " : "rejected. ", ...whatif[kept ? "kept" : "rejected"]);
  wonder(parts, { [whatif.coin]: u });
  return u.toFixed(digits);
}

/** @param {number} value @param {number} digits */
const said = (value, digits) => (value === 1 ? "1" : value.toFixed(digits));

// As many decimals as show on which side of the threshold a coin is.
/** @param {number} u @param {number} threshold */
export function digitsApart(u, threshold) {
  for (let digits = 2; digits < 6; digits += 1) {
    const [at, bar] = [Number(u.toFixed(digits)), Number(threshold.toFixed(digits))];
    if (u < threshold ? at < bar : at > bar || u === threshold) return digits;
  }
  return 6;
}

// Hundredths read best; nearer to the threshold than that, what was pointed at.
/** @param {number} u @param {number} threshold */
export function snapped(u, threshold) {
  const inside = Math.min(Math.max(u, 0), 0.999);
  for (const unit of [100, 1000]) {
    const near = Math.min(Math.round(inside * unit) / unit, 0.999);
    if (near < threshold === inside < threshold) return near;
  }
  return inside;
}

/**
 * @param {HTMLElement} bar
 * @param {HTMLElement} pin
 * @param {TossedTrial} panel
 * @param {WhatIf} whatif
 */
export function movable(bar, pin, panel, whatif) {
  const { u, threshold } = panel.coin;
  let laid = u;
  const was = el("i", "sv-pin sv-pin-was");
  was.style.left = percent(u);
  /** @param {number} to */
  const move = (to) => {
    laid = snapped(to, threshold);
    if (!was.isConnected) bar.insertBefore(was, pin);
    pin.style.left = percent(laid);
    for (const old of bar.querySelectorAll(".sv-side")) old.remove();
    bar.append(...sides(threshold, laid));
    const text = suppose(laid, panel, whatif);
    there(bar.nextElementSibling).replaceWith(coinTicks(panel, laid, text));
    pin.setAttribute("aria-valuenow", text);
  };
  /** @param {PointerEvent} event */
  const pointed = (event) => {
    const box = bar.getBoundingClientRect();
    move((event.clientX - box.left) / box.width);
  };
  bar.classList.add("sv-movable");
  bar.title = "Drag the coin: what if it had another value?";
  bar.addEventListener("pointerdown", (event) => {
    event.preventDefault(); // or arrow keys would move the coin instead of stepping
    pause();
    bar.setPointerCapture(event.pointerId);
    pointed(event);
  });
  bar.addEventListener("pointermove", (event) => {
    if (bar.hasPointerCapture(event.pointerId)) pointed(event);
  });
  slider(pin, () => laid, move);
}

/** @type {Partial<Record<string, number>>} */
const STRIDES = {
  ArrowLeft: -0.01,
  ArrowDown: -0.01,
  ArrowRight: 0.01,
  ArrowUp: 0.01,
  PageDown: -0.1,
  PageUp: 0.1,
  Home: -1,
  End: 1,
};

// The coin by keys: arrows move it, Enter runs it, Escape goes back to what happened.
/** @param {HTMLElement} pin @param {() => number} current @param {(to: number) => void} move */
function slider(pin, current, move) {
  const facts = { role: "slider", tabindex: "0", "aria-valuemin": "0", "aria-valuemax": "1" };
  for (const [name, value] of Object.entries(facts)) pin.setAttribute(name, value);
  pin.setAttribute(
    "aria-label",
    "Coin: arrow keys move it, Enter runs from here, Escape goes back",
  );
  pin.setAttribute("aria-valuenow", String(current()));
  pin.addEventListener("keydown", (event) => {
    const by = STRIDES[event.key];
    if (event.key === "Enter" && now.supposed) branch();
    else if (event.key === "Escape") go(now.at.round, now.at.step);
    else if (by) move(current() + by);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

// A guess that was not judged: the verdicts that would put it into the text.
/** @param {number} node */
function wonderAbout(node) {
  pause();
  const { nodes, ways, chances } = frameAt(now.at.round, now.at.step).tree;
  const view = nodes[node];
  if (!ways) {
    wonder(
      [
        "At temperature 0 no coin decides: ",
        { w: view.w },
        " is accepted only if it is the target's top token.",
      ],
      null,
    );
    return;
  }
  /** @type {Partial<Record<State, number>>} */
  const done = { accepted: 1, rejected: 0 };
  const needed = ways[node].filter(([other, kept]) => done[nodes[other].is] !== kept);
  const [kept, fallen] = [1, 0].map((is) =>
    needed.filter((need) => need[1] === is).map(([other]) => ({ w: nodes[other].w })),
  );
  /** @type {Part[]} */
  const parts = [{ w: view.w }, " at +" + view.depth + " would be in the text if "];
  if (fallen.length)
    parts.push(...listed(fallen), fallen.length > 1 ? " were" : " was", " rejected and ");
  parts.push(...listed(kept), kept.length > 1 ? " were accepted" : " was accepted");
  parts.push(". ");
  if (!chances) {
    const later = "Whether coins can do this is known once the target has scored the guesses.";
    return wonder([...parts, later], null);
  }
  const found = prospect(needed, chances);
  if (found.is === "never") {
    const end = " is accepted with probability " + found.chance + ".";
    return wonder([...parts, "No coin can do this: ", { w: nodes[found.node].w }, end], null);
  }
  const number = reel.rounds[now.at.round].number;
  const coins = Object.fromEntries(
    needed.map((need) => [number + " judge " + need[0], coinFor(need, chances)]),
  );
  if (found.is === "sure") return wonder([...parts, "Force these coins?"], coins);
  const unknown = " is not known from this run.";
  parts.push(
    "Coins may do this: the probability of accepting ",
    { w: nodes[found.node].w },
    unknown,
  );
  return wonder(parts, coins, "Try it from here");
}

/** @typedef {[node: number, kept: number]} Need */

/**
 * Whether coins can cause these verdicts: surely, maybe (the first whose probability is not known
 * well enough), or never (the first that no coin changes, and its probability).
 * @param {Need[]} needed
 * @param {Chances} chances
 * @returns {{ is: "sure" } | { is: "may", node: number } | { is: "never", node: number, chance: number }}
 */
export function prospect(needed, chances) {
  let may = 0;
  for (const [node, kept] of needed) {
    const [least, most] = chances[node] || [0, 1];
    if (kept ? most === 0 : least === 1) return { is: "never", node, chance: least };
    if (!may && (kept ? least === 0 : most === 1)) may = node;
  }
  return may ? { is: "may", node: may } : { is: "sure" };
}

// The coin that causes a verdict: one that rejects is above the probability, however near to 1.
/** @param {Need} need @param {Chances} chances */
function coinFor([node, kept], chances) {
  const { laid } = stage.config;
  const [, most] = chances[node] || [0, 1];
  return kept ? laid.kept : most < 1 ? Math.max(laid.fallen, (1 + most) / 2) : laid.fallen;
}

/** @param {Part[]} words */
function listed(words) {
  /** @param {number} index */
  const between = (index) => (index === 0 ? "" : index === words.length - 1 ? " and " : ", ");
  return words.flatMap((each, index) => [between(index), each]);
}
