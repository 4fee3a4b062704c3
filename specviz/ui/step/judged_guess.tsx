// The guess being judged: bars of p and q on one scale, and the coin. The bar of the coin is that of
// q magnified, so that its covered part means "accept".

import { Bar, BarRow, Fill } from "./bar_rows";
import { ExactCoin, HiddenGuessCoin } from "./coin";

import type { TrialPanel } from "../../frames/inspector.py";

export function JudgedGuess(panel: TrialPanel) {
  const { asked, coin, labels, soft = 0, text } = panel;
  if (panel.p === undefined)
    return [BarRow("softmax", Bar("soft", soft, text?.p, Fill("soft", soft)), "soft"), NO_COIN];
  const p = panel.p;
  const tossed = Boolean(asked || coin);
  const q = panel.q ?? Number(tossed);
  // p and q are compared with each other; at temperature 0 there is nothing to compare with.
  const scale = tossed ? 1 / Math.max(p, q, 1e-9) : 1;
  const [target, drafter] = Bars(panel, p * scale, q * scale);
  if (!tossed) return [target, NO_COIN];
  return [
    ...(labels.none === undefined ? [target, drafter] : [drafter, target]),
    coin ? Lens(Math.min(p, q) * scale, q * scale, coin.threshold) : <div class="sv-lens" />,
    coin ? ExactCoin(panel) : HiddenGuessCoin(true),
  ];
}

/** The bars of p and q, which have these lengths; without q, that of p shows what is left of 1. */
function Bars({ labels, soft = 0, text }: TrialPanel, p: number, q: number) {
  const hueOf = (name: string) =>
    labels.residual_bars ? "r" : name + (labels.left.includes(name) ? " sv-left-" + name : "");
  const ink = labels.residual_bars ? "residual" : "p";
  const over = Math.max(q - p, 0);
  const fills = [Fill(hueOf("p"), p), soft ? Fill("soft", soft) : null];
  if (labels.none !== undefined && over) fills.push(Fill("whole", over));
  return [
    BarRow(labels.p, Bar(ink, Math.max(p, soft), text?.p, ...fills), ink),
    labels.none === undefined
      ? BarRow(labels.q, Bar("q", q, text?.q, Fill(hueOf("q"), q - over), Fill("over", over)), "q")
      : BarRow("drafter q", <span class="sv-l">{labels.none}</span>),
  ];
}

const NO_COIN = (
  <p class="sv-nocoin">
    Temperature 0 needs no coin. The outline is the target's probability at temperature 1.
  </p>
);

/** The area between the bar of q and that of the coin, which magnifies it. */
function Lens(both: number, whole: number, keep: number) {
  const above = [0, both, whole].map((at) => `calc((100% - var(--number)) * ${at}) 0`);
  const below = [0, keep, 1].map((at) => `${100 * at}% 100%`);
  return BarRow(
    "",
    <div class="sv-lens">
      {["keep", "over"].map((name, at) => {
        const corners = [above[at], above[at + 1], below[at + 1], below[at]];
        return <i class={"sv-lens-" + name} style={{ clipPath: `polygon(${corners})` }} />;
      })}
    </div>,
  );
}
