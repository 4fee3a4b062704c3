// The guess being judged: bars of p and q on one scale, and a bar for u (the coin). The latter is
// the bar of q magnified, so that its covered part means "accept".

import { percent } from "../shared/dom";
import { required } from "../shared/required";
import { Drawing } from "../shared/view";
import { CoinBar, HiddenCoin, trackWidth } from "./coin_bar";
import { linkAttributes } from "./hover_links";

import type { VNode } from "preact";
import type { AskedPanel, TrialPanel } from "../../frames/inspector.py";
export type Bars = { rows: VNode[]; covered: number; whole: number };

export function JudgedGuess(panel: TrialPanel) {
  if (panel.asked && panel.p === undefined) return SoftmaxBar(panel);
  const { rows, covered, whole } = barsOf(panel, required(panel.p));
  if (panel.asked) return [...rows, <div class="sv-lens" />, HiddenCoin()];
  if (!panel.coin) return [rows[0], NoCoin()];
  return [...rows, Lens(covered, whole, panel.coin.threshold), CoinBar(panel)];
}

const NoCoin = () => (
  <p class="sv-nocoin">
    Temperature 0 needs no coin. The outline is the target's probability at temperature 1.
  </p>
);

/** Return the share of a bar's track that its number leaves for the bar. */
const barSpace = (texts: string[]) =>
  Math.min(0.8, 1 - (Math.max(...texts.map((text) => text.length)) * 9.2 + 10) / trackWidth());

/**
 * Return the bars of both distributions and their lengths; without q, the bar of u has the whole
 * scale of p.
 */
function barsOf(panel: TrialPanel, p: number): Bars {
  const { labels, soft } = panel;
  const text = required(panel.text);
  const total = panel.q ?? (panel.asked || panel.coin ? 1 : 0);
  // p and q are compared with each other; at temperature 0 there is nothing to compare with.
  const longest = panel.asked || panel.coin ? Math.max(p, total, 1e-9) : 1;
  const scale = barSpace(Object.values(text).map(String)) / longest;
  const [covered, over, whole] = [Math.min(p, total), Math.max(total - p, 0), total].map(
    (mass) => mass * scale,
  );
  const hatched = (name: string) => (labels.left.includes(name) ? " sv-left-" + name : "");
  const [hue, ink] = labels.residual_bars ? ["r", "residual"] : ["p" + hatched("p"), "p"];
  const target = Bar(labels.p, text.p, ink, Math.max(p, soft || 0) * scale, [
    Fill(hue, p * scale),
    soft === undefined ? null : Fill("soft", soft * scale),
    labels.none === undefined ? null : Fill("whole", over),
  ]);
  if (labels.none !== undefined) {
    const rows = panel.asked || panel.coin ? [NoQ(labels.none), target] : [target];
    return { rows, covered, whole };
  }
  const q = "q" in text ? required(text.q) : "";
  const fills = [
    Fill(labels.residual_bars ? "r" : "q" + hatched("q"), covered),
    Fill("over", over),
  ];
  return { rows: [target, Bar(required(labels.q), q, "q", whole, fills)], covered, whole };
}

/** The bar of a question at temperature 0, where p would reveal the verdict. */
function SoftmaxBar({ soft = 0, text }: AskedPanel) {
  const number = text ? text.p : "";
  const length = soft * barSpace([number]);
  return [Bar("softmax", number, "soft", length, [Fill("soft", length)]), NoCoin()];
}

const NoQ = (why: string) => (
  <div class="sv-cr">
    <span class="sv-l">drafter q</span>
    {Label(why)}
  </div>
);

const Label = (text: string) => <span class="sv-l">{text}</span>;

/** A row: label, bar and, at the end of the bar, its number. */
const Bar = (label: string, number: string, ink: string, end: number, fills: (VNode | null)[]) => (
  <div class="sv-cr" {...linkAttributes(ink)}>
    {Label(label)}
    <div class="sv-bar">
      <b class={"sv-ink-" + ink} style={{ left: percent(end) }}>
        {number}
      </b>
      {fills}
    </div>
  </div>
);

const Fill = (name: string, width: number) => (
  <i class={"sv-f sv-f-" + name} style={{ width: percent(width) }} />
);

/** Lines from the bar of q to the bar of u, which magnifies it. */
function Lens(covered: number, whole: number, keep: number) {
  const [from, to, below] = [covered, whole, keep].map((value) => (100 * value).toFixed(2));
  const lens = Drawing(
    "0 0 100 20",
    [
      ["M0 0H" + from + "L" + below + " 20H0z", "sv-lens-keep"],
      ["M" + from + " 0H" + to + "L100 20H" + below + "z", "sv-lens-over"],
    ],
    "sv-lens",
  );
  Object.assign(lens.props, { preserveAspectRatio: "none" });
  return (
    <div class="sv-cr sv-cr-lens">
      <span />
      {lens}
    </div>
  );
}
