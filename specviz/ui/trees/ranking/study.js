// The study on real text, the published claim, and the time of the arithmetic; shown at the start.

import { el } from "../../shared/dom.js";
import { $, stage } from "./stage.js";

/** @import { Measured } from "./data.js" */

const HEADS = [
  "ranked by",
  "changed trees",
  "changed guesses",
  "ties at the cut",
  "products that are 0",
  "orphans with torch.topk",
  "accepted length minus exact (95%)",
];

/** @param {string} place @param {string[]} heads @param {(string | Node)[][]} rows */
function table(place, heads, rows) {
  const head = heads.map((text) => cell("th", text, "col"));
  $(place + " thead").replaceChildren(el("tr", "", ...head));
  $(place + " tbody").replaceChildren(
    ...rows.map(([name, ...values]) =>
      el("tr", "", cell("th", name, "row"), ...values.map((value) => cell("td", value))),
    ),
  );
}

/** @param {"th" | "td"} kind @param {string | Node} text @param {string} [scope] */
function cell(kind, text, scope) {
  const made = el(kind, "", text);
  if (scope) made.setAttribute("scope", scope);
  return made;
}

export function startStudy() {
  const { study, reported } = stage.config;
  table(".sv-rank-reported", ["", "products", "sums of logs"], reported.rows);
  const link = el("a", "", "SGLang #12637");
  link.href = reported.url;
  link.rel = "noopener noreferrer";
  link.target = "_blank";
  const said = `, closed without merging: ${reported.where}. Its author: “${reported.quote}”. The two runs generated different numbers of tokens, so their texts differ. SGLang ranks in float32, where no tree in our study changes: the reported difference does not come from the ranking.`;
  $(".sv-rank-quote").replaceChildren(link, said);
  $(".sv-rank-study").hidden = !study;
  if (!study) return;
  table(
    ".sv-rank-arithmetic",
    ["µs per step", "multiply", "add"],
    study.arithmetic.map(({ dtype, product, sum }) => [dtype, product.toFixed(2), sum.toFixed(2)]),
  );
  const [{ width }] = study.arithmetic;
  $(".sv-rank-where").textContent =
    `One step of the tree loop, shapes (1, ${width}) and (1, ${width}, ${width}); medians of 2,000 alternating runs on ${study.where}. Both take about as long as the call to torch itself; a drafter pass takes hundreds of times longer.`;
  /** @type {HTMLSelectElement} */
  const list = $("#sv-rank-study");
  const named = study.rows.map(
    ({ drafter, size }, at) => new Option(`${drafter} · ${size}`, String(at)),
  );
  list.replaceChildren(...named);
  list.addEventListener("change", () => showStudy(Number(list.value)));
  $(".sv-rank-made").textContent =
    `Measured with ${study.made}. All ways rank the same guesses at the same positions, and the accepted length is computed from the target’s p at temperature 1, so any difference comes from the ranking. Intervals: bootstrap over prompts.`;
  showStudy(0);
}

/** @param {number} at */
function showStudy(at) {
  const row = stage.config.study?.rows[at];
  if (!row) return;
  $(".sv-rank-verdict").textContent = row.said;
  $(".sv-rank-noise").textContent = row.noise;
  table(
    ".sv-rank-study .sv-rank-table",
    HEADS,
    Object.entries(row.ways).map(([way, one]) => [wayName(way), ...cells(one)]),
  );
}

/** @param {Measured} one */
const cells = (one) => [
  percent(one.differ),
  one.nodes.toFixed(2),
  percent(one.tied),
  one.zeros ? one.zeros.toFixed(1) : "0",
  percent(one.orphans),
  gain(one),
];

/** @param {number} share */
const percent = (share) => (100 * share).toFixed(share && share < 0.095 ? 1 : 0) + "%";
/** @param {number} value */
const signed = (value) =>
  Math.abs(value) < 5e-5 ? "0" : (value > 0 ? "+" : "−") + Math.abs(value).toFixed(4);

/** A difference with its interval, as numbers and as a whisker around 0. @param {Measured} one */
function gain({ gain: mean, gain_interval: [low, high] }) {
  if (!low && !high) return "0 (the same trees)";
  const scale = 50 / 0.016;
  const line = el("i", "sv-rank-whisker");
  /** @param {number} value */
  const at = (value) => Math.max(0, Math.min(100, 50 + value * scale));
  line.style.setProperty("--low", at(low) + "%");
  line.style.setProperty("--high", at(high) + "%");
  line.style.setProperty("--mean", at(mean) + "%");
  const said = `${signed(mean)} (${signed(low)} to ${signed(high)})`;
  return el("span", "sv-rank-gain", line, el("span", "", said));
}

/** @param {string} way */
export function wayName(way) {
  const [how, dtype] = way.split(" ");
  return (how === "sum" ? "sum of logs" : "product") + ", " + dtype;
}
