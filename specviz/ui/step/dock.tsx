// The dock: first, back, play, the next step by name, last; and the list of rounds, of which the
// current one is open.

import { startsSpaced } from "../shared/dom";
import { moveAmong, oneStop } from "../shared/stops";
import { required } from "../shared/required";
import { Button, classes, Icon, Mark, render, RunningToken, Token } from "../shared/view";
import { following, frameAt, go, momentKey, player, stepName } from "./state";
import { waiting } from "./live";
import { isSimple, ModeSwitch } from "./mode";
import { act, isHalted, isPlaying, isSupposing } from "./playback";
import { widthOf } from "./room";
import { $, stage } from "./stage";

import type { ComponentChild } from "preact";
import type { StepName } from "../../frames/frame.py";
import type { Word } from "../../frames/scene.py";

let dropped = 0; // number of oldest steps taken that are not shown

export function showDock() {
  dropped = 0;
  redrawDock();
  if (isSimple()) return;
  oneStop($(".sv-rounds"), stage.find(".sv-steps [aria-current]"));
}

// Draw the dock again at the same step, because autoplay has begun or ended.
export function redrawDock() {
  const { classList } = $(".sv");
  classList.toggle("sv-paused", isHalted());
  classList.toggle("sv-supposes", player.whatIf !== null);
  render(Dock(), $(".sv-dock"));
}

// Hide the oldest steps if there is not enough space, so that no step is cut.
export function fitSteps() {
  if (isSimple()) return;
  const steps = $(".sv-steps");
  const over = steps.scrollWidth - steps.clientWidth;
  if (over <= 0) return;
  const [first, ...others] = [...steps.children] as HTMLElement[];
  const fitting = others.findIndex((each) => each.offsetLeft - first.offsetLeft >= over);
  dropped = fitting < 0 ? others.length : fitting + 1;
  redrawDock();
}

function Dock() {
  return isSimple() ? SimpleDock() : FullDock();
}

// Back, the next step, Play, and the four parts of a round.
function SimpleDock() {
  const { round, step } = player.at;
  const after = player.rounds.length ? following(round, step) : null;
  const playing = isPlaying();
  return [
    <div key="simple" class="sv-buttons" role="group" aria-label="Steps">
      {DockButton("back", { "aria-label": "Back" }, Icon("back"))}
      {DockButton(
        "next",
        { class: "sv-next", disabled: player.rounds.length > 0 && !after && !isSupposing() },
        SimpleNext(),
      )}
      {DockButton("play", {}, playing ? "Pause" : "Play")}
    </div>,
    isHalted() ? (
      <span class="sv-halted">Paused at the first rejection</span>
    ) : (
      player.rounds.length > 0 && Phases()
    ),
    ModeSwitch(),
  ];
}

const SIMPLE_NEXT: Partial<Record<StepName["kind"], string>> = {
  propose: "Next: guess ahead",
  score: "Next: check them",
  commit: "Next: the result",
};

function SimpleNext(): ComponentChild {
  const { round, step } = player.at;
  const after = following(round, step);
  if (document.body.classList.contains("sv-race-runs")) return "Next: the result";
  if (isSupposing()) return "Next: what really happened";
  if (!player.rounds.length || player.question || !after || after[1] === 0) return nextStep()[0];
  const { kind, label, w } = stepName(...after);
  if (kind === "judge") {
    const guess = required(w);
    return (
      <span class="sv-next-name">
        Next: decide on “{RunningToken(startsSpaced(guess) ? guess.slice(1) : guess)}”
      </span>
    );
  }
  if (kind === "draw")
    return label === "recover" ? "Next: what replaces it?" : "Next: one more word";
  if (kind === "score" && !Object.keys(frameAt(...after).tree.nodes).length)
    return "Next: an ordinary pass";
  return SIMPLE_NEXT[kind] ?? nextStep()[0];
}

function Phases() {
  const { round, step } = player.at;
  const { kind } = stepName(round, step);
  const kinds = ["propose", "score", "judge", "draw", "commit"];
  return (
    <ol class="sv-phases" aria-label="Parts of a round">
      {["Guess", "Check", "Decide", "Last word", "Result"].map((name, at) => (
        <li key={at} aria-current={kinds[at] === kind && round > 0 ? "step" : undefined}>
          {name}
        </li>
      ))}
    </ol>
  );
}

function FullDock() {
  const { round, step } = player.at;
  const after = player.rounds.length ? following(round, step) : null;
  const [play, label] = isPlaying() ? ["pause", "Pause"] : ["play", "Play"];
  const next = { class: "sv-next", disabled: player.rounds.length > 0 && !after };
  return [
    <div key="full" class="sv-buttons" role="group" aria-label="Steps">
      {DockButton("first", { "aria-label": "First step" }, Icon("first"))}
      {DockButton("back", { "aria-label": "Back" }, Icon("back"))}
      {DockButton("play", { "aria-label": label }, Icon(play))}
      {DockButton("next", next, [<span class="sv-next-name">{nextName()}</span>, Icon("next")])}
      {DockButton("last", { "aria-label": "Last step" }, Icon("last"))}
    </div>,
    <div
      class="sv-rounds"
      role="group"
      aria-label="Rounds: up and down arrows move, Enter opens one"
      onKeyDown={moveAmong}
    >
      {player.rounds.length ? rounds() : null}
    </div>,
    document.body.classList.contains("sv-excerpt") ? null : ModeSwitch(),
  ];
}

const DockButton = (name: string, attributes: object, label: ComponentChild) =>
  Button(label, () => act(name), { "data-do": name, ...attributes });

function nextName(): ComponentChild {
  const [name, token] = nextStep();
  return [name, token && Token(token)];
}

/** What the next step is called, and the token that it judges. */
export function nextStep(): [string, Word | null] {
  if (!player.rounds.length) return ["Next", null];
  if (player.question) return ["Show the verdict", null];
  const after = following(player.at.round, player.at.step);
  if (!after) return [waiting() ? "Waiting for more" : "End of the run", null];
  const [round, step] = after;
  if (step === 0) return ["Next: round " + player.rounds[round].number, null];
  const { kind, next, w } = stepName(round, step);
  const name = (player.whatIf?.is ? "In the run: " : "Next: ") + next; // not after the supposition
  return [name, kind === "judge" ? (w ?? null) : null];
}

// The rounds near the current one, and how many others there are.
function rounds() {
  const { round } = player.at;
  const near = roundsBeside();
  const start = Math.max(0, Math.min(round - near, player.rounds.length - 2 * near - 1));
  const shown = player.rounds.slice(start, start + 2 * near + 1);
  const beyond = player.rounds.length - start - shown.length;
  return [
    start > 0 ? (
      <span key="before" class="sv-far">
        {"+" + start}
      </span>
    ) : null,
    ...shown.map((_, offset) =>
      start + offset === round ? OpenRound() : ClosedRound(start + offset),
    ),
    beyond > 0 ? (
      <span key="beyond" class="sv-far">
        {"+" + beyond}
      </span>
    ) : null,
  ];
}

// Return how many rounds are shown beside the current one: fewer if numbers are long or the player
// narrow.
function roundsBeside() {
  if ($(".sv").matches(".sv-one:not(.sv-slim)")) return 1;
  if (widthOf("player") < 900) return 2;
  const long = player.rounds.length > 100;
  if ($(".sv").matches(".sv-tight")) return long ? 2 : 3;
  return long ? 6 : 9;
}

function ClosedRound(index: number) {
  const { number } = player.rounds[index];
  return Button(number, () => openRound(index), {
    key: number,
    class: classes("sv-seg", index < player.at.round && "sv-was"),
    "aria-label": "Round " + number,
  });
}

// Open a round; its button then disappears, and its first step gets the focus.
function openRound(index: number) {
  go(index, 0);
  const here: HTMLElement | null = $(".sv-steps").querySelector("[aria-current]");
  here?.focus({ preventScroll: true });
}

// The current round. Only steps taken so far are listed, since the number of further steps would
// reveal verdicts.
function OpenRound() {
  const { round, step } = player.at;
  const { number } = player.rounds[round];
  const names = Array.from({ length: step + 1 }, (_, at) => stepName(round, at));
  const shown: ComponentChild[] = names.flatMap((name, at) =>
    name.kind === "propose" && names[at + 1]?.kind === "propose" ? [] : [StepButton(at, name)],
  );
  if (player.question) shown.push(QuestionMark(stepName(...player.question)));
  return (
    <div key={number} class="sv-seg sv-open">
      <b>{number}</b>
      <div key={momentKey()} class="sv-steps">
        {shown.slice(dropped)}
      </div>
    </div>
  );
}

// The verdict that the reader is asked for; only its guess is shown.
const QuestionMark = ({ w }: StepName) => (
  <span key="question" class="sv-step sv-here" aria-current="step" tabIndex={-1}>
    {"? "}
    {Token(required(w))}
  </span>
);

function StepButton(at: number, name: StepName) {
  const { round, step } = player.at;
  const here = at === step && !player.question;
  const judged = name.kind === "judge";
  const is = (here && player.whatIf?.is) || name.is;
  const attributes = {
    key: at,
    class: classes("sv-step", here && "sv-here", judged && "sv-judged"),
    "aria-label": judged ? name.label + ", " + is : name.label,
    "aria-current": here ? "step" : undefined,
  };
  const parts = judged
    ? [Mark(required(is)), here ? Token(required(name.w)) : null]
    : [!here && name.kind === "propose" ? "propose" : name.label];
  return Button(parts, () => go(round, at), attributes);
}
