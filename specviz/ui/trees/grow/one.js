// The selected guess in numbers, its path in the text, and the gain of the tree.

import { copyButton } from "../../shared/copy.js";
import { el, flat, running, word } from "../../shared/dom.js";
import { fetchPlotly, plot } from "../../shared/plot.js";
import { $ } from "./stage.js";
import { answer, pathTo, ranked, step, view } from "./state.js";

/** @import { Node } from "./data.js" */

/** The text up to the tree, and the path to the selected guess. */
export function showText() {
  const { text, nodes } = answer();
  const path = view.picked > 0 ? pathTo(view.picked) : [];
  const before = text.slice(0, -1).map(running);
  const chips = path.map((node) => el("span", "sv-grow-chip", word(nodes[node].w)));
  const root = el("span", "sv-grow-root", running(text[text.length - 1]));
  $(".sv-grow-text").replaceChildren("… ", ...before, root, ...chips);
}

/** @param {number} value */
const share = (value) => (value >= 0.0005 ? value.toFixed(3) : value ? "<0.001" : "0");

/** The numbers of the selected guess. */
export function showOne() {
  const node = answer().nodes[view.picked];
  $(".sv-grow-hint").hidden = Boolean(node);
  $(".sv-grow-one").replaceChildren(...(node ? rows(node, view.picked) : []));
}

/** @param {Node} node @param {number} number */
function rows(node, number) {
  const { positions, mask, nodes, kept, verdict } = answer();
  /** @type {[string, string | HTMLElement][]} */
  const told = [["guess", el("span", "sv-grow-chip", word(node.w))]];
  if (number) {
    told.push(["path’s log-probability", node.total], ["as a probability", share(node.believed)]);
    told.push(["rank in the pool", `${node.rank} of ${nodes.length - 1}`]);
  }
  if (!ranked()) told.push(["in the tree", "decided at the rerank"]);
  else if (node.row === null) told.push(["in the tree", "no, dropped at the rerank"]);
  else {
    told.push(["row of the pass", String(node.row)], ["position", String(positions[node.row])]);
    const sees = mask[node.row].map((row) => flat(nodes[kept[row]].w)).join(" ");
    told.push(["attends to", "the text, " + sees]);
  }
  if (number) {
    told.push(["target’s p after its parent", share(node.p)]);
    const would = node.row === null ? "would be accepted with" : "accepted with";
    told.push([would, share(node.kept)]);
    const judged = verdict.decisions.find((one) => one.node === number);
    if (judged && step().kind === "verify")
      told.push(["coin u, and p", `${judged.u}, ${judged.p}`]);
  }
  return told.map(([name, value]) => el("div", "", el("dt", "", name), el("dd", "", value)));
}

/** Accepted lengths; the result of the coins only at the last step. */
export function showLengths() {
  const { lengths } = answer();
  const most = Math.max(1, ...lengths.map(({ value }) => value));
  $(".sv-grow-lengths tbody").replaceChildren(
    ...lengths.map(({ name, said, value }) => {
      const bar = el("i", "sv-grow-length sv-grow-length-" + name);
      bar.style.width = (100 * value) / most + "%";
      const thrown = name === "thrown";
      const number = thrown ? (step().kind === "verify" ? String(value) : "?") : value.toFixed(2);
      if (number === "?") bar.style.width = "0";
      const head = el("th", "", said);
      head.setAttribute("scope", "row");
      return el("tr", "", head, el("td", "", number), el("td", "", bar));
    }),
  );
}

/** The gain and the cost of each guess. */
export async function showWorth() {
  const { margins } = answer();
  $(".sv-grow-paid").textContent = margins.said;
  await fetchPlotly();
  plot($(".sv-grow-figure"), margins.figure);
}

/** The tree in the formats of other engines. */
export function showLists() {
  const { views, names } = answer();
  const told = Object.entries(names).map(([engine, numbers]) => {
    const said = Object.entries(numbers).map(([name, value]) => `${name} ${value}`);
    return /** @type {[string, string]} */ ([engine, said.join(", ")]);
  });
  const rows = Object.entries(views).map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return /** @type {[string, string]} */ ([LISTS[name] || name, text]);
  });
  $(".sv-grow-lists dl").replaceChildren(
    ...[...told, ...rows].map(([name, text]) =>
      el(
        "div",
        "",
        el("dt", "", name, " ", copyButton(name, text)),
        el("dd", "", el("code", "", text)),
      ),
    ),
  );
}

/** @type {Record<string, string>} */
const LISTS = {
  next_token: "retrieve_next_token (SGLang): first child",
  next_sibling: "retrieve_next_sibling (SGLang)",
  retrieve_indices: "retrieve_indices (EAGLE, Medusa): one row per leaf",
  rank_paths: "--rank-paths (specviz), medusa_choices",
};
