// The ranking lab: its events, the parts that show its state, and `window.specviz.ranking`.

import { Question } from "../../shared/ask";
import { pictures } from "../../shared/picture";
import { expect } from "../../shared/tabs";
import { HeadRow, render } from "../../shared/view";
import { listLive, Options } from "../shared/options";
import { ExhibitTree, Legend, RankedTree } from "./ranked_tree";
import { $, stage, state } from "./state";
import { startStudy, wayName } from "./study";

import type { Start } from "../../shared/section";
import type { Answer, Way } from "./answer.py";
import type { Config } from "./__init__.py";

const fault = (notice: string) => notice !== state.notice && change({ notice });
const question: Question<Answer> = new Question("ranking", fault);

const request = () => {
  const [depth, width, budget] = stage.config.size;
  return { place: state.place, tree: { depth, width, budget } };
};

function change(part: Partial<typeof state>) {
  Object.assign(state, part);
  draw();
}

function show(found: Answer) {
  const example = state.place.startsWith("example:");
  change({ answer: found, way: example ? telling(found) : state.way });
  reveal(found);
}

// Return the way of ranking that best shows the effect of an example.
function telling({ ways }: Answer) {
  const weight = ({ differ, orphans, zeros, tied }: Way) =>
    1000 * differ + 500 * orphans.length + 100 * zeros + tied;
  return ways.reduce((best, way) => (weight(way) > weight(best) ? way : best)).name;
}

const chosen = ({ ways }: Answer) => ways.find(({ name }) => name === state.way) || ways[0];

function draw() {
  const { config } = stage;
  const { answer, notice } = state;
  render(Positions(config), $("#sv-rank-place"));
  const example = config.examples.find(([name]) => name === state.place);
  $(".sv-rank-says").textContent = example ? example[2] : "";
  $(".sv-rank-notice").textContent = notice;
  $(".sv-rank-notice").hidden = !notice;
  if (!answer) return;
  const way = chosen(answer);
  const real = answer.ways.some(({ length }) => length !== null);
  const heads = real ? HEADS : HEADS.slice(0, -1);
  render(HeadRow(heads), $(".sv-rank-ways thead"));
  render(
    answer.ways.map((one) => WayRow(one, real, answer)),
    $(".sv-rank-ways tbody"),
  );
  $(".sv-rank-said").textContent = way.said;
  render(RankedTree(answer, way), $(".sv-rank-view"));
  $(".sv-rank-exhibit").hidden = !answer.exhibit;
  render((answer.exhibit ?? []).map(ExhibitTree), $(".sv-rank-pair"));
}

/** The tree on screen, for a picture. */
function about() {
  const { examples, places } = stage.config;
  const all = [...places, ...examples, ...(state.own ? [state.own] : [])];
  const title = all.find(([name]) => name === state.place)?.[1];
  return { file: state.place, facts: [title, "ranked by " + wayName(state.way)] };
}

const HEADS = ["", "changed guesses", "ties at the cut", "zeros", "accepted length"];

function WayRow({ name, differ, tied, zeros, length }: Way, real: boolean, answer: Answer) {
  const button = {
    type: "button" as const,
    "aria-pressed": name === state.way,
    onClick: () => {
      change({ way: name });
      reveal(answer);
    },
  };
  return (
    <tr key={name}>
      <th scope="row">
        <button {...button}>{wayName(name)}</button>
      </th>
      {[differ, tied, zeros].map((count) => (
        <td class={count ? "sv-rank-some" : ""}>{count}</td>
      ))}
      {real && <td>{length === null ? "" : length.toFixed(3)}</td>}
    </tr>
  );
}

// Scroll to the first guess that exact ranking treats differently.
function reveal(answer: Answer) {
  const { roles } = chosen(answer);
  const at = roles.findIndex((role) => role === "gained" || role === "lost");
  if (at < 1) return;
  const view = $(".sv-rank-view");
  const [x, y] = answer.layout.places[at];
  view.scrollTo(x - view.clientWidth / 2, y - view.clientHeight / 2);
}

function Positions({ places, examples }: Config) {
  const recorded = state.own ? [state.own, ...places] : places;
  return [
    Group("Recorded positions (steps 6, top-k 10, 60 tokens)", recorded),
    Group(
      "Constructed examples, one effect each",
      examples.map(([name, title]) => [name, title]),
    ),
  ];
}

const Group = (label: string, rows: [string, string][]) => (
  <optgroup key={label} label={label}>
    {Options(rows, state.place)}
  </optgroup>
);

export const start: Start<Config> = (element, props, _watch, _trigger, config) => {
  stage.set(element, props, config);
  question.wire(request, show);
  window.specviz.ranking = {
    request,
    question,
    get answer() {
      return state.answer;
    },
  };
  startStudy();
  render(Legend(), $(".sv-rank-keys"));
  const tree = () => [$(".sv-rank-keys"), stage.find(".sv-rank-view > svg")];
  $(".sv-rank-body").after(pictures(about, [["ranked tree", tree]]));
  $(".sv-rank-exhibit").append(
    pictures(about, [["tree with wrong parents", () => $(".sv-rank-pair")]]),
  );
  const choose = (place: string) => {
    change({ place });
    question.ask();
  };
  stage.onChoice("#sv-rank-place", choose);
  listLive("sv-rank", (own) => change({ own }));
  choose(config.places[0][0]);
  expect("sv-rank-example", ({ place }: { place: string }) => choose(place));
};
