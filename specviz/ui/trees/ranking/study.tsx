// The study on real text, the published claim, and the times of the arithmetic.

import { pictures } from "../../shared/picture";
import { HeadRow, render, TableRow } from "../../shared/view";
import { Options } from "../shared/options";
import { $, stage } from "./state";

import type { ComponentChild } from "preact";
import type { Measured } from "./__init__.py";

const HEADS = [
  "ranked by",
  "changed trees",
  "changed guesses",
  "ties at the cut",
  "products that are 0",
  "orphans with torch.topk",
  "accepted length minus exact (95%)",
];

function showTable(place: string, heads: string[], rows: ComponentChild[][]) {
  render(HeadRow(heads), $(place + " thead"));
  render(rows.map(TableRow), $(place + " tbody"));
}

/** The drafter and size on screen, for a picture. */
function about() {
  const { selectedOptions }: HTMLSelectElement = $("#sv-rank-study");
  return { file: "ranking-study", facts: ["measured", selectedOptions[0]?.label] };
}

export function startStudy() {
  const parts = [".sv-rank-verdict", ".sv-rank-scroll", ".sv-rank-made"];
  $(".sv-rank-study").append(
    pictures(about, [["effect on the accepted length", () => parts.map((part) => $(part))]]),
  );
  const { study, reported } = stage.config;
  showTable(".sv-rank-reported", ["", "products", "sums of logs"], reported.rows);
  const link = { href: reported.url, rel: "noopener noreferrer", target: "_blank" };
  const claim = `, closed without merging: ${reported.where}. Its author: “${reported.quote}”. The two runs generated different numbers of tokens, so their texts differ. SGLang ranks in float32, where no tree in our study changes: the reported difference does not come from the ranking.`;
  render([<a {...link}>SGLang #12637</a>, claim], $(".sv-rank-quote"));
  $(".sv-rank-study").hidden = !study;
  if (!study) return;
  showTable(
    ".sv-rank-arithmetic",
    ["µs per step", "multiply", "add"],
    study.arithmetic.map(({ dtype, product, sum }) => [dtype, product.toFixed(2), sum.toFixed(2)]),
  );
  const [{ width }] = study.arithmetic;
  $(".sv-rank-where").textContent =
    `One step of the tree loop, shapes (1, ${width}) and (1, ${width}, ${width}); medians of 2,000 alternating runs on ${study.where}. Both take about as long as the call to torch itself; a drafter pass takes hundreds of times longer.`;
  const titles = study.rows.map(
    ({ drafter, size }, at) => [String(at), `${drafter} · ${size}`] as [string, string],
  );
  render(Options(titles, "0"), $("#sv-rank-study"));
  stage.onChoice("#sv-rank-study", (at) => showStudy(Number(at)));
  $(".sv-rank-made").textContent =
    `Measured with ${study.made}. All ways rank the same guesses at the same positions, and the accepted length is computed from the target’s p at temperature 1, so any difference comes from the ranking. Intervals: bootstrap over prompts.`;
  showStudy(0);
}

function showStudy(at: number) {
  const row = stage.config.study?.rows[at];
  if (!row) return;
  $(".sv-rank-verdict").textContent = row.said;
  $(".sv-rank-noise").textContent = row.noise;
  showTable(
    ".sv-rank-study .sv-rank-table",
    HEADS,
    Object.entries(row.ways).map(([way, one]) => [wayName(way), ...cells(one)]),
  );
}

const cells = (one: Measured) => [
  percent(one.differ),
  one.nodes.toFixed(2),
  percent(one.tied),
  one.zeros ? one.zeros.toFixed(1) : "0",
  percent(one.orphans),
  Gain(one),
];

const percent = (share: number) => (100 * share).toFixed(share && share < 0.095 ? 1 : 0) + "%";
const signed = (value: number) =>
  Math.abs(value) < 5e-5 ? "0" : (value > 0 ? "+" : "−") + Math.abs(value).toFixed(4);

/** A difference with its interval, as numbers and as an error bar around 0. */
function Gain({ gain: mean, gain_interval: [low, high] }: Measured) {
  if (!low && !high) return "0 (the same trees)";
  const scale = 50 / 0.016;
  const at = (value: number) => Math.max(0, Math.min(100, 50 + value * scale)) + "%";
  const style = { "--low": at(low), "--high": at(high), "--mean": at(mean) };
  const numbers = `${signed(mean)} (${signed(low)} to ${signed(high)})`;
  return (
    <span class="sv-rank-gain">
      <i class="sv-rank-whisker" style={style} />
      <span>{numbers}</span>
    </span>
  );
}

export function wayName(way: string) {
  const [how, dtype] = way.split(" ");
  return (how === "sum" ? "sum of logs" : "product") + ", " + dtype;
}
