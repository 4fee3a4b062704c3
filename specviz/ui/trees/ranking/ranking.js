// Event wiring, and the section's public object `window.specviz.ranking`.

import { Question } from "../../shared/ask.js";
import { el } from "../../shared/dom.js";
import { listLive } from "../shared/places.js";
import { become, treeOf } from "../shared/svg.js";
import { $, stage } from "./stage.js";
import { startStudy, wayName } from "./study.js";

/** @import { Refusal, Start } from "../../shared/data.js" */
/** @import { Answer, Config, Exhibit, Way } from "./data.js" */

const SILENT = "The server does not answer. Try again.";
/** @type {Question<Answer>} */
const question = new Question("ranking", () => tell(SILENT));
/** @type {{ place: string, way: string, answer: Answer | null }} */
const state = { place: "", way: "sum bfloat16", answer: null };
/** @type {[name: string, said: string][]} */
const KEYS = [
  ["kept", "kept, as in exact ranking"],
  ["gained", "kept only here"],
  ["lost", "kept only in exact ranking"],
  ["tied", "dropped with the same total as the last one kept"],
  ["dropped", "dropped"],
];

/** @param {string} sentence */
function tell(sentence) {
  $(".sv-rank-notice").textContent = sentence;
  $(".sv-rank-notice").hidden = !sentence;
}

const request = () => {
  const [depth, width, budget] = stage.config.size;
  return { place: state.place, tree: { depth, width, budget } };
};

/** @param {Answer | Refusal} answer */
function show(answer) {
  tell(answer.problem || "");
  if (answer.problem === undefined) {
    state.answer = answer;
    if (state.place.startsWith("example:")) state.way = telling(answer);
    showWays(answer);
    showTree(answer);
    showExhibit(answer.exhibit);
  }
}

// The way of ranking that best shows the effect of an example.
/** @param {Answer} answer */
function telling({ ways }) {
  /** @param {Way} way */
  const weight = ({ differ, orphans, zeros, tied }) =>
    1000 * differ + 500 * orphans.length + 100 * zeros + tied;
  return ways.reduce((best, way) => (weight(way) > weight(best) ? way : best)).name;
}

const HEADS = ["", "changed guesses", "ties at the cut", "zeros", "accepted length"];

/** @param {Answer} answer */
function showWays(answer) {
  const real = answer.ways.some(({ length }) => length !== null);
  const heads = real ? HEADS : HEADS.slice(0, -1);
  const head = heads.map((text) => {
    const made = el("th", "", text);
    made.setAttribute("scope", "col");
    return made;
  });
  $(".sv-rank-ways thead").replaceChildren(el("tr", "", ...head));
  $(".sv-rank-ways tbody").replaceChildren(...answer.ways.map((way) => row(way, real)));
}

/** @param {Way} way @param {boolean} real */
function row(way, real) {
  const { name, differ, tied, zeros, length } = way;
  const button = el("button", "", wayName(name));
  button.type = "button";
  button.setAttribute("aria-pressed", String(name === state.way));
  button.addEventListener("click", () => {
    state.way = name;
    if (!state.answer) return;
    for (const one of stage.all(".sv-rank-ways button"))
      one.setAttribute("aria-pressed", String(one === button));
    showTree(state.answer);
  });
  const head = el("th", "", button);
  head.setAttribute("scope", "row");
  const told = [differ, tied, zeros].map((many) =>
    el("td", many ? "sv-rank-some" : "", String(many)),
  );
  if (real) told.push(el("td", "", length === null ? "" : length.toFixed(3)));
  return el("tr", "", head, ...told);
}

/** @param {Answer} answer */
function showTree({ nodes, layout, ways }) {
  const way = ways.find(({ name }) => name === state.way) || ways[0];
  const drawn = nodes.map((node, at) => ({ ...node, total: way.totals[at] }));
  const [svg, groups] = treeOf(layout, drawn);
  for (const [node, group] of groups) become(group, way.roles[node], layout.places[String(node)]);
  const view = $(".sv-rank-view");
  view.replaceChildren(svg);
  const lit = way.roles.findIndex((role) => role === "gained" || role === "lost");
  if (lit > 0) {
    const [x, y] = layout.places[String(lit)];
    view.scrollTo(x - view.clientWidth / 2, y - view.clientHeight / 2);
  }
  $(".sv-rank-said").textContent = way.said;
}

/** @param {Exhibit | null} exhibit */
function showExhibit(exhibit) {
  $(".sv-rank-exhibit").hidden = !exhibit;
  if (!exhibit) return;
  $(".sv-rank-pair").replaceChildren(
    ...exhibit.trees.map(({ name, nodes, layout, moved, length, kept }) => {
      const [svg, groups] = treeOf(layout, nodes);
      for (const [node, group] of groups)
        become(group, moved[node] ? "gained" : "kept", layout.places[String(node)]);
      const said = el(
        "p",
        "sv-rank-text",
        el("b", "", name),
        `: expected accepted length ${length.toFixed(2)}; with one set of coins, the target accepts ${kept}`,
      );
      return el("div", "", said, el("div", "sv-rank-small", svg));
    }),
  );
}

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  question.wire(request, show);
  window.specviz.ranking = {
    request,
    get idle() {
      return question.idle;
    },
    get answer() {
      return state.answer;
    },
  };
  startStudy();
  $(".sv-rank-keys").replaceChildren(
    ...KEYS.map(([name, said]) => el("li", "", el("i", "sv-rank-key sv-rank-key-" + name), said)),
  );
  /** @type {HTMLSelectElement} */
  const list = $("#sv-rank-place");
  list.replaceChildren(
    group("Recorded positions (steps 6, top-k 10, 60 tokens)", config.places),
    group(
      "Constructed examples, one effect each",
      config.examples.map(([name, title]) => [name, title]),
    ),
  );
  const choose = () => {
    state.place = list.value;
    const example = config.examples.find(([name]) => name === list.value);
    $(".sv-rank-says").textContent = example ? example[2] : "";
    question.ask();
  };
  list.addEventListener("change", choose);
  listLive("sv-rank", () => list);
  choose();
}

/** @param {string} label @param {[string, string][]} rows */
function group(label, rows) {
  const made = el("optgroup", "", ...rows.map(([value, title]) => new Option(title, value)));
  made.label = label;
  return made;
}
