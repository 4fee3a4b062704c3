// Two rules on one sampled tree: events, the parts that show the answer, and
// `window.specviz.judging`.

import { Question } from "../../shared/ask";
import { flat } from "../../shared/dom";
import { DraftTree, Facts } from "../../shared/draft_tree";
import { pictures } from "../../shared/picture";
import { Stage } from "../../shared/stage";
import { HeadRow, Mark, render } from "../../shared/view";
import { listLive, Options } from "../shared/options";

import type { Start } from "../../shared/section";
import type { Answer, JudgedNode, RuleAnswer } from "./answer.py";
import type { Config } from "./__init__.py";

const stage: Stage<Config> = new Stage();
const { $ } = stage;
const fault = (notice: string) => notice !== state.notice && change({ notice });
const question: Question<Answer> = new Question("judging", fault);
/** The question. */
const asked = { place: "", shape: 0, drawn: "", seed: 1, average: false };
const state = {
  notice: "",
  /** The visitor's live position. */
  own: null as [place: string, title: string] | null,
  answer: null as Answer | null,
};

function change(part: Partial<typeof state>) {
  Object.assign(state, part);
  draw();
}

function draw() {
  const { answer, own, notice } = state;
  const { places, shapes, drawn } = stage.config;
  render(Options(own ? [own, ...places] : places, asked.place), $("#sv-judge-place"));
  const numbered = shapes.map((title, at) => [String(at), title] as [string, string]);
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

function RuleCard(rule: RuleAnswer, answer: Answer) {
  const rows = rule.coins.map(([guess, u, keep, is]) => (
    <tr>
      {[guess, u, keep].map((text) => (
        <td>{text}</td>
      ))}
      <td>
        {Mark(is)} {is}
      </td>
    </tr>
  ));
  return (
    <div key={rule.name} class="sv-judge-card">
      <h3>{rule.title}</h3>
      <p class="sv-judge-said">{rule.said}</p>
      <div class="sv-judge-view">{JudgedTree(rule, answer)}</div>
      <p class="sv-twig-facts" data-rule={rule.name} />
      <table class="sv-judge-coins">
        <thead>{HeadRow(HEADS)}</thead>
        <tbody>{rows}</tbody>
      </table>
      <p class="sv-judge-expected">
        {"Expected accepted length of this tree, over all coins: "}
        <b>{rule.expected}</b>
      </p>
    </div>
  );
}

function JudgedTree({ name, title, roles }: RuleAnswer, { nodes, layout }: Answer) {
  const drawn = nodes.map((node, at) => ({
    ...node,
    is: at ? roles[at] : "root",
    name: at ? `${flat(node.w)} at +${node.depth}, ${roles[at]}` : undefined,
  }));
  return (
    <DraftTree
      nodes={Object.fromEntries(drawn.entries())}
      layout={layout}
      label={`The tree as judged ${title}. Arrow keys move between guesses`}
      sideways
      onPoint={(at: number | null) => {
        const place = $(`.sv-twig-facts[data-rule=${name}]`);
        render(Facts(at ? facts(nodes[at], roles[at]) : []), place);
      }}
    />
  );
}

const facts = ({ w, depth, p, q }: JudgedNode, is: string) => [
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

export const start: Start<Config> = (element, props, _watch, _trigger, config) => {
  stage.set(element, props, config);
  question.wire(
    () => asked,
    (answer) => change({ answer }),
  );
  window.specviz.judging = {
    request: () => asked,
    question,
  };
  const ask = (part: Partial<typeof asked>) => {
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
};
