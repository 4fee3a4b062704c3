// Two rules on one sampled tree: events, the parts that show the answer, and
// `window.specviz.judging`.

import { Question } from "../../shared/ask.js";
import { flat } from "../../shared/dom.js";
import { DraftTree, Facts } from "../../shared/draft_tree.js";
import { pictures } from "../../shared/picture.js";
import { Stage } from "../../shared/stage.js";
import { h, HeadRow, Mark, render } from "../../shared/view.js";
import { listLive, Options } from "../shared/options.js";

/** @import { Start } from "../../shared/section.js" */
/** @import { Answer, JudgedNode, RuleAnswer } from "./answer.py" */
/** @import { Config } from "./__init__.py" */

/** @type {Stage<Config>} */
const stage = new Stage();
const { $ } = stage;
/** @param {string} notice */
const fault = (notice) => notice !== state.notice && change({ notice });
/** @type {Question<Answer>} */
const question = new Question("judging", fault);
/** The question. */
const asked = { place: "", shape: 0, drawn: "", seed: 1, average: false };
const state = {
  notice: "",
  /** The visitor's live position. @type {[place: string, title: string] | null} */
  own: null,
  /** @type {Answer | null} */
  answer: null,
};

/** @param {Partial<typeof state>} part */
function change(part) {
  Object.assign(state, part);
  draw();
}

function draw() {
  const { answer, own, notice } = state;
  const { places, shapes, drawn } = stage.config;
  render(Options(own ? [own, ...places] : places, asked.place), $("#sv-judge-place"));
  const numbered = shapes.map((title, at) => /** @type {[string, string]} */ ([String(at), title]));
  render(Options(numbered, String(asked.shape)), $("#sv-judge-shape"));
  render(Options(drawn, asked.drawn), $("#sv-judge-drawn"));
  $(".sv-judge-notice").textContent = notice;
  $(".sv-judge-notice").hidden = !notice;
  if (!answer) return;
  render(
    answer.rules.map((rule) => RuleCard(rule, answer)),
    $(".sv-judge-pair"),
  );
  $(".sv-judge-mean").textContent = answer.average ?? "";
  $("[data-do=mean]").hidden = Boolean(answer.average);
}

const HEADS = ["guess", "coin u", "accepted if u <", ""];

/** @param {RuleAnswer} rule @param {Answer} answer */
function RuleCard(rule, answer) {
  const rows = rule.coins.map(([guess, u, keep, is]) =>
    h(
      "tr",
      null,
      ...[guess, u, keep].map((text) => h("td", null, text)),
      h("td", null, Mark(is), " ", is),
    ),
  );
  return h(
    "div",
    { key: rule.name, class: "sv-judge-card" },
    h("h3", null, rule.title),
    h("p", { class: "sv-judge-said" }, rule.said),
    h("div", { class: "sv-judge-view" }, JudgedTree(rule, answer)),
    h("p", { class: "sv-twig-facts", "data-rule": rule.name }),
    h(
      "table",
      { class: "sv-judge-coins" },
      h("thead", null, HeadRow(HEADS)),
      h("tbody", null, ...rows),
    ),
    h(
      "p",
      { class: "sv-judge-expected" },
      "Expected accepted length of this tree, over all coins: ",
      h("b", null, rule.expected),
    ),
  );
}

/** @param {RuleAnswer} rule @param {Answer} answer */
function JudgedTree({ name, title, roles }, { nodes, layout }) {
  const drawn = nodes.map((node, at) => ({
    ...node,
    is: at ? roles[at] : "root",
    name: at ? `${flat(node.w)} at +${node.depth}, ${roles[at]}` : undefined,
  }));
  return h(DraftTree, {
    nodes: Object.fromEntries(drawn.entries()),
    layout,
    label: `The tree as judged ${title}. Arrow keys move between guesses`,
    sideways: true,
    onPoint: (/** @type {number | null} */ at) => {
      const place = $(`.sv-twig-facts[data-rule=${name}]`);
      render(Facts(at ? facts(nodes[at], roles[at]) : []), place);
    },
  });
}

/** @param {JudgedNode} node @param {string} is */
const facts = ({ w, depth, p, q }, is) => [
  `${flat(w)} at +${depth}, ${is === "unreached" ? "not reached" : is}`,
  `p ${p?.toFixed(3)} · q ${q?.toFixed(3)}`,
];

/** The tree on screen, for a picture. */
function about() {
  const { places, shapes, drawn } = stage.config;
  const titles = Object.fromEntries([...(state.own ? [state.own] : []), ...places, ...drawn]);
  const { place, shape, seed } = asked;
  const way = "sampled " + titles[asked.drawn];
  return { file: place, facts: [titles[place], shapes[shape] + " guesses", way, "seed " + seed] };
}

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  question.wire(
    () => asked,
    (answer) => change({ answer }),
  );
  window.specviz.judging = {
    request: () => asked,
    question,
  };
  /** @param {Partial<typeof asked>} part */
  const ask = (part) => {
    Object.assign(asked, { average: false }, part);
    draw();
    question.ask();
  };
  stage.onChoice("#sv-judge-place", (place) => ask({ place }));
  stage.onChoice("#sv-judge-shape", (shape) => ask({ shape: Number(shape) }));
  stage.onChoice("#sv-judge-drawn", (drawn) => ask({ drawn }));
  $("[data-do=again]").addEventListener("click", () => ask({ seed: asked.seed + 1 }));
  $("[data-do=mean]").addEventListener("click", () => ask({ average: true }));
  $(".sv-judge-asked").addEventListener("submit", (event) => event.preventDefault());
  $(".sv-judge-pair").after(pictures(about, [["judged trees", () => $(".sv-judge-pair")]]));
  listLive("sv-judge", (own) => change({ own }));
  ask({ place: config.places[0][0], drawn: config.drawn[0][0] });
}
