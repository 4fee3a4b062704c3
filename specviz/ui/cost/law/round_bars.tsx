// One round at the chosen γ: the tokens that it adds, its cost, and the formulas.

import type { Round } from "./answer.py";

const SOURCE =
  "The speed-up formula of Leviathan et al., arXiv 2211.17192. It assumes that every draft token is accepted with the same probability α, independently of the tokens before it.";

const Bar = (title: string, pieces: [name: string, value: number][], number: string) => (
  <div class="sv-law-bar">
    <span>{title}</span>
    {pieces.map(([name, value]) => (
      <i class={"sv-law-" + name} style={{ "--wide": String(value) }} />
    ))}
    <b data-number={title === "brings" ? "tokens" : "cost"}>{number}</b>
  </div>
);

const Key = (kind: string, title: string, number: string) => (
  <span class={"sv-law-is-" + kind}>
    {title + " "}
    <b>{number}</b>
  </span>
);

export function RoundBars({ tokens, draft, check, numbers }: Round) {
  const whole = Math.max(tokens, draft + check);
  return [
    <div class="sv-law-round">
      <p>
        <b>One round at your γ</b>
        {" brings tokens and costs plain passes. Drafting pays when the upper bar is longer."}
      </p>
      {Bar("brings", [["brings", tokens / whole]], numbers.tokens)}
      {Bar(
        "costs",
        [
          ["draft", draft / whole],
          ["check", check / whole],
        ],
        numbers.cost,
      )}
      <p class="sv-law-legend">
        {Key("draft", "drafting", numbers.draft)}
        {Key("check", "verification", numbers.check)}
      </p>
    </div>,
    <div class="sv-law-formulas">
      <p>
        <span>tokens</span>
        {" = 1 + α + … + α"}
        <sup>γ</sup>
      </p>
      <p>
        <span />
        {" = (1 − α"}
        <sup>γ+1</sup>
        {") / (1 − α) = "}
        <b>{numbers.tokens}</b>
      </p>
      <p>
        <span>speed-up</span>
        {" = tokens / (γ c + v) = "}
        <b>{numbers.speedup}</b>
      </p>
      <p>
        <span>arithmetic</span>
        {" = (γ ĉ + γ + 1) / tokens = "}
        <b>{numbers.work}</b>
      </p>
      <p class="sv-law-source">{SOURCE}</p>
    </div>,
  ];
}
