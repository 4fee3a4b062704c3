// The result of a race: whether all texts are the same, the headline, the table, and the method.

import { byId, meaning } from "../../shared/dom";
import { required } from "../../shared/required";
import { Button, render } from "../../shared/view";
import { $, stage, story, titleOf } from "./lines";
import { COLUMNS, RaceTable } from "./race_table";
import { SentencePart, Sign } from "./words";

import type { Result } from "./lines.py";

/** Further terms of the table, in the form of COLUMNS. */
const TERMS: [string, string][] = [
  ["tokens", "brings"],
  ["cost", "costs"],
  ["plain token", "plain step"],
];

export function showResult() {
  const whole = story.over ? story.whole : null;
  $(".sv-race-result").hidden = $(".sv-race-same").hidden = !whole;
  if (!whole) return;
  const { same, sentence_parts } = whole.texts;
  const kind = same === null ? "open" : same ? "same" : "apart";
  $(".sv-race-same").dataset.is = kind;
  $(".sv-race-result").classList.toggle("sv-race-rough", Boolean(whole.caution));
  render([Sign(kind), <p>{sentence_parts.map(SentencePart)}</p>], $(".sv-race-same"));
  render(Headline(whole), $(".sv-race-verdict"));
  render(RaceTable(whole.lanes), $(".sv-race-table"));
  render(footnote(whole), $(".sv-race-foot"));
  render(Definitions(), $(".sv-race-words dl"));
}

const Headline = ({ headline, caution }: Result) => [
  <p class="sv-race-headline">{headline}</p>,
  <p class="sv-race-caution" role="note" hidden={!caution}>
    {Sign("rough")}
    <span>
      {caution + " "}
      {stage.config.served && Button("Measure again", again, { class: "sv-link" })}
    </span>
  </p>,
];

const again = () => required(byId("sv-race-go")).click();

const Definitions = () =>
  [...Object.values(COLUMNS), ...TERMS].map(([title, term]) => (
    <div>
      <dt>{title}</dt>
      <dd>{meaning(term)}</dd>
    </div>
  ));

const RECORDED =
  "Measured when this race was recorded; other sections may have speeds from another machine, which each names.";

function footnote({ lanes }: Result) {
  const race = required(story.race);
  const most = Math.max(...lanes.map(({ runs }) => runs.length));
  const sentences = [
    race.source === "live" ? "Measured on this machine." : RECORDED,
    "The lanes ran one at a time, in random order: " + race.order.map(titleOf).join(", ") + ".",
    most > 1 &&
      "Lanes that took less than a second ran " +
        most +
        " times: the table shows their median run, and the lowest and highest speed-up.",
    [race.where, "batch 1", race.settings].filter(Boolean).join(" · ") + ".",
  ];
  return sentences.filter(Boolean).join(" ");
}
