// Answers on the page: sentences as text, bars by width, figures by plotly.

import { drawing, el } from "../../shared/dom.js";
import { plot, plotly } from "../../shared/plot.js";
import { question } from "./ask.js";
import { showRun } from "./runs.js";
import { bound, tell } from "./say.js";
import { $, stage } from "./stage.js";
import { state } from "./state.js";

const MAPPED = {
  gamma: "Lines of equal speed-up at this c. Unshaded: drafting loses. Click to go there.",
  c: "The best γ everywhere. Unshaded: no draft length pays. Click to go there.",
};
const KEYS = {
  speed: ["chosen", "best", "run", "law"],
  gamma: ["chosen", "ridge", "run"],
  c: ["chosen", "run"],
};
const SAID = {
  chosen: "your sliders",
  best: "the best γ",
  run: "measured",
  law: "the law on that run's terms",
  ridge: "the best γ for each α",
};
const DRAWN = {
  chosen: [["M2 6a4 4 0 1 0 8 0a4 4 0 1 0-8 0", "sv-fill"]],
  best: [["M2 6a4 4 0 1 0 8 0a4 4 0 1 0-8 0", "sv-line"]],
  run: [["M6 .6 11.4 6 6 11.4.6 6z", "sv-fill"]],
  law: [["M6 1.6 10.4 6 6 10.4 1.6 6z", "sv-line"]],
  ridge: [["M1 6h1.5M5 6h1.5M9 6h1.5", "sv-line"]],
};
export let last = null; // the last answer that had no fault

export function receive() {
  const answer = stage.props.value && JSON.parse(stage.props.value);
  if (!answer || !question.answers(answer.id)) return;
  show(answer);
  question.next();
}

function show(answer) {
  tell(answer.problem || "");
  for (const row of stage.element.querySelectorAll(".sv-law-field")) {
    row
      .querySelector("[type=number]")
      .setAttribute("aria-invalid", String(row.dataset.name === answer.field));
  }
  if (answer.problem) return;
  last = answer;
  $(".sv-law-best").textContent = bound(answer.best);
  $(".sv-law-chosen").textContent = bound(answer.chosen);
  showRound(answer.round);
  showTrees(answer.trees);
  showRun(answer.run);
  for (const button of stage.element.querySelectorAll("[data-map]")) {
    button.setAttribute("aria-pressed", String(button.dataset.map === state.map));
  }
  $(".sv-law-mapped").textContent = MAPPED[state.map];
  showKeys("speed", KEYS.speed);
  showKeys("map", KEYS[state.map]);
  paint();
}

function showKeys(figure, keys) {
  const ridge = last.map.data["30-best"];
  const drawn = {
    best: "40-best" in last.speed.data,
    ridge: Boolean(ridge && ridge.x.length > 1),
    run: Boolean(last.run),
    law: Boolean(last.run),
  };
  const there = keys.filter((key) => drawn[key] !== false);
  $(`[data-keys=${figure}]`).replaceChildren(
    ...there.map((key) => el("li", "", drawing("0 0 12 12", DRAWN[key], "sv-mark"), SAID[key])),
  );
}

function showRound(round) {
  for (const place of stage.element.querySelectorAll("[data-told]"))
    place.textContent = round.told[place.dataset.told];
  const whole = Math.max(round.tokens, round.draft + round.check);
  const wide = { brings: round.tokens, draft: round.draft, check: round.check };
  for (const [name, value] of Object.entries(wide)) {
    $(".sv-law-" + name).style.setProperty("--wide", value / whole);
  }
}

function showTrees(told) {
  $(".sv-law-fault").textContent = told.problem || "";
  $(".sv-law-fault").hidden = !told.problem;
  for (const box of stage.element.querySelectorAll("[data-text]")) {
    box.setAttribute("aria-invalid", String(box.dataset.text === told.field));
  }
  if (told.problem) return;
  $(".sv-law-said").textContent = told.said;
  const most = Math.max(...told.cards.map((card) => card.tokens));
  if (!$(".sv-law-card")) $(".sv-law-cards").append(...told.cards.map(treeCard));
  [...stage.element.querySelectorAll(".sv-law-card")].forEach((card, at) => {
    const { told: words, tokens } = told.cards[at];
    for (const place of card.querySelectorAll("[data-card]"))
      place.textContent = words[place.dataset.card];
    card.querySelector("i").style.setProperty("--wide", tokens / most);
  });
}

function treeCard(card) {
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
  const places = {
    ".sv-law-speed": last.speed,
    ".sv-law-time": last.time,
    ".sv-law-map": last.map,
  };
  for (const [selector, figure] of Object.entries(places)) plot($(selector), figure);
  $(".sv-law-speed").setAttribute("aria-label", last.best + " " + last.chosen);
  $(".sv-law-time").setAttribute(
    "aria-label",
    `Per token: arithmetic ${last.round.told.work}, speed-up ${last.round.told.speedup}.`,
  );
  $(".sv-law-map").setAttribute("aria-label", MAPPED[state.map].replace(" Click to go there.", ""));
  const cards = stage.element.querySelectorAll(".sv-law-card");
  (last.trees.cards || []).forEach((card, at) => {
    plot(cards[at].querySelector(".sv-plot"), card.figure);
    cards[at]
      .querySelector(".sv-plot")
      .setAttribute("aria-label", `${card.name}: ${card.told.tokens} tokens a round.`);
  });
}
