// Shows an answer: sentences as text, bars by width, figures by plotly.

import { drawing, el } from "../../shared/dom.js";
import { plot, plotly } from "../../shared/plot.js";
import { there } from "../../shared/there.js";
import { showRun } from "./runs.js";
import { bound, tell } from "./say.js";
import { $, stage } from "./stage.js";
import { state } from "./state.js";

/** @import { Refusal, Stroke } from "../../shared/data.js" */
/** @import { Answer, Card, Fault, Key, MapName, Round, Trees } from "./data.js" */

/** @type {Record<MapName, string>} */
const MAPPED = {
  gamma:
    "Lines of equal speed-up at this c. Unshaded: slower than plain decoding. Click to set α and γ.",
  c: "Speed-up at the best γ for each α and c. Unshaded: no draft length pays. Click to set α and c.",
};
/** @type {Record<"speed" | MapName, Key[]>} */
const KEYS = {
  speed: ["chosen", "best", "run", "law"],
  gamma: ["chosen", "ridge", "run"],
  c: ["chosen", "run"],
};
/** @type {Record<Key, string>} */
const SAID = {
  chosen: "your sliders",
  best: "the best γ",
  run: "measured",
  law: "formula at that run's values",
  ridge: "the best γ for each α",
};
/** @type {Record<Key, Stroke[]>} */
const DRAWN = {
  chosen: [["M2 6a4 4 0 1 0 8 0a4 4 0 1 0-8 0", "sv-fill"]],
  best: [["M2 6a4 4 0 1 0 8 0a4 4 0 1 0-8 0", "sv-line"]],
  run: [["M6 .6 11.4 6 6 11.4.6 6z", "sv-fill"]],
  law: [["M6 1.6 10.4 6 6 10.4 1.6 6z", "sv-line"]],
  ridge: [["M1 6h1.5M5 6h1.5M9 6h1.5", "sv-line"]],
};
/** @type {Answer | null} */
export let last = null; // the last answer without an error

/** @param {Answer | Refusal} answer */
export function show(answer) {
  tell(answer.problem || "");
  for (const row of stage.all(".sv-law-field")) {
    const box = there(row.querySelector("[type=number]"));
    box.setAttribute("aria-invalid", String(row.dataset.name === answer.field));
  }
  if (answer.problem !== undefined) return;
  last = answer;
  $(".sv-law-best").textContent = bound(answer.best);
  $(".sv-law-chosen").textContent = bound(answer.chosen);
  showRound(answer.round);
  showTrees(answer.trees);
  showRun(answer.run);
  for (const button of stage.all("[data-map]")) {
    button.setAttribute("aria-pressed", String(button.dataset.map === state.map));
  }
  $(".sv-law-mapped").textContent = MAPPED[state.map];
  showKeys(answer, "speed", KEYS.speed);
  showKeys(answer, "map", KEYS[state.map]);
  paint();
}

/** @param {Answer} answer @param {string} figure @param {Key[]} keys */
function showKeys(answer, figure, keys) {
  const ridge = answer.map.data["30-best"];
  /** @type {Partial<Record<Key, boolean>>} */
  const drawn = {
    best: "40-best" in answer.speed.data,
    ridge: Boolean(ridge && ridge.x.length > 1),
    run: Boolean(answer.run),
    law: Boolean(answer.run),
  };
  const there = keys.filter((key) => drawn[key] !== false);
  $(`[data-keys=${figure}]`).replaceChildren(
    ...there.map((key) => el("li", "", drawing("0 0 12 12", DRAWN[key], "sv-mark"), SAID[key])),
  );
}

/** @param {Round} round */
function showRound(round) {
  for (const place of stage.all("[data-number]"))
    place.textContent = round.numbers[there(place.dataset.number)];
  const whole = Math.max(round.tokens, round.draft + round.check);
  const wide = { brings: round.tokens, draft: round.draft, check: round.check };
  for (const [name, value] of Object.entries(wide)) {
    $(".sv-law-" + name).style.setProperty("--wide", String(value / whole));
  }
}

/** @param {Trees | Fault} trees */
function showTrees(trees) {
  $(".sv-law-fault").textContent = trees.problem || "";
  $(".sv-law-fault").hidden = !trees.problem;
  for (const box of stage.all("[data-text]")) {
    box.setAttribute("aria-invalid", String(box.dataset.text === trees.field));
  }
  if (trees.problem !== undefined) return;
  $(".sv-law-said").textContent = trees.said;
  const most = Math.max(...trees.cards.map((card) => card.tokens));
  if (!stage.find(".sv-law-card")) $(".sv-law-cards").append(...trees.cards.map(treeCard));
  stage.all(".sv-law-card").forEach((card, at) => {
    const { numbers: words, tokens } = trees.cards[at];
    /** @type {NodeListOf<HTMLElement>} */
    const places = card.querySelectorAll("[data-card]");
    for (const place of places) place.textContent = words[there(place.dataset.card)];
    there(card.querySelector("i")).style.setProperty("--wide", String(tokens / most));
  });
}

/** @param {Card} card */
function treeCard(card) {
  /** @param {string} name */
  const said = (name) => {
    const made = el("b");
    made.dataset.card = name;
    return made;
  };
  const figure = el("div", "sv-plot sv-law-tree");
  figure.setAttribute("role", "img");
  const bar = el(
    "div",
    "sv-law-bar",
    el("span", "", "tokens"),
    el("i", "sv-law-brings"),
    said("tokens"),
  );
  const facts = el("p", "sv-law-note", "levels ", said("levels"), " · speed-up ", said("speedup"));
  return el(
    "div",
    "sv-law-card",
    el("h4", "", card.name),
    el("div", "sv-law-hold", figure),
    bar,
    facts,
  );
}

// Figures; again whenever the window or the theme changes.
export function paint() {
  if (!last || !plotly || !stage.element.offsetParent) return;
  const figures = {
    ".sv-law-speed": last.speed,
    ".sv-law-time": last.time,
    ".sv-law-map": last.map,
  };
  for (const [selector, figure] of Object.entries(figures)) plot($(selector), figure);
  $(".sv-law-speed").setAttribute("aria-label", last.best + " " + last.chosen);
  $(".sv-law-time").setAttribute(
    "aria-label",
    `Per token: arithmetic ${last.round.numbers.work}, speed-up ${last.round.numbers.speedup}.`,
  );
  $(".sv-law-map").setAttribute("aria-label", MAPPED[state.map].replace(/ Click to set .*/, ""));
  const places = stage.all(".sv-law-card .sv-plot");
  const cards = last.trees.problem === undefined ? last.trees.cards : [];
  cards.forEach((card, at) => {
    plot(places[at], card.figure);
    places[at].setAttribute("aria-label", `${card.name}: ${card.numbers.tokens} tokens a round.`);
  });
}
