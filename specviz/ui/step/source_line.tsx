// The line that says which run is on screen, on which machine and with which settings; and how its
// drafter drafts. The same facts for saved pictures and films.

import { required } from "../shared/required";
import { render, termAttributes } from "../shared/view";
import { AnswerButton } from "./caption";
import { chooseDrafter } from "./end_card";
import { player, stepName, stepsOf } from "./state";
import { $, stage } from "./stage";

import type { RunLine } from "./lines.py";

export function showSource(run: RunLine) {
  render(SourceLine(run), $(".sv-source"));
  const drafter = run.how ? [<b>{run.drafter + "."}</b>, " " + run.how] : null;
  render(drafter, $(".sv-drafts"));
  $(".sv").dataset.source = run.source;
  document.body.classList.toggle("sv-is-lossy", !run.lossless);
  const listed = run.source === "recorded" && !run.file;
  document.body.classList.toggle("sv-shows-unlisted", !listed);
}

/** Symbols of settings in everyday words. */
const EVERYDAY: Record<string, string> = { T: "temperature", γ: "guesses per round:" };

// Settings that have a glossary entry are shown as terms.
function SourceLine(run: RunLine) {
  const { source, lossless, drafter, on, names, where, summary: settings } = run;
  const words = [drafter + " drafts for " + on, where, ...settings.map(([, each]) => each)];
  const plain = settings.map(([, each]) =>
    EVERYDAY[each[0]] ? EVERYDAY[each[0]] + each.slice(1) : each,
  );
  return [
    <span class="sv-badge" {...termAttributes(source)}>
      {source}
    </span>,
    About(source, unusualOf(run), ["Guesses: " + drafter, "Checks: " + on, where, ...plain]),
    <span class="sv-lossy">{lossless ? null : "not lossless"}</span>,
    <span class="sv-where" title={words.join(" · ")}>
      {drafter + " drafts for "}
      <span {...termAttributes(names[0])}>{on}</span>
      {" · " + where}
      {settings.map(([name, words]) => [" · ", <span {...termAttributes(name)}>{words}</span>])}
    </span>,
  ];
}

/** What a newcomer did not choose: a drafter or a temperature other than the usual ones. */
function unusualOf({ names: [, name], settings, drafter }: RunLine) {
  const { defaults, drafters } = stage.config;
  const { temperature } = Object(settings.sampling);
  const other = temperature !== Object(defaults.sampling).temperature;
  return (name === drafters[0] ? "" : " · " + drafter) + (other ? ` · T ${temperature}` : "");
}

// In the Simple mode, machine and settings are in the card of the badge.
const About = (source: RunLine["source"], unusual: string, facts: string[]) => (
  <details
    class="sv-about"
    onFocusOut={({ currentTarget, relatedTarget }) => {
      if (!currentTarget.contains(relatedTarget as Node | null)) currentTarget.open = false;
    }}
    onKeyDown={({ currentTarget, key }) => {
      if (key === "Escape") currentTarget.open = false;
    }}
  >
    <summary>{`Real run, ${source}${unusual} · settings`}</summary>
    <div class="sv-about-card">
      <ul>
        {facts.map((fact) => (
          <li key={fact}>{fact}</li>
        ))}
      </ul>
      {stage.config.served ? AnswerButton("Change drafter or temperature", chooseDrafter) : null}
    </div>
  </details>
);

/** What a film and a picture say of the run. */
export function provenance() {
  const { source, drafter, on, where } = required(player.run);
  return [source, drafter + " drafts for " + on, where];
}

/** A round in the name of a file. */
export function fileOf(round: number) {
  const { source, id } = required(player.run);
  return (source === "recorded" ? id : "live-run") + "-round-" + player.rounds[round].number;
}

export const stepInRound = (round: number, step: number) =>
  `Round ${player.rounds[round].number}, step ${step + 1} of ${stepsOf(round)}`;

/** What is on screen, for a picture. */
export function aboutMoment() {
  if (!player.rounds.length) return { file: "", facts: [] };
  const { round, step } = player.at;
  const what = player.whatIf
    ? "what if, not what happened"
    : player.question && "before the verdict";
  return {
    file: fileOf(round) + "-" + stepName(round, step).id,
    facts: [stepInRound(round, step), what, ...provenance()],
  };
}
