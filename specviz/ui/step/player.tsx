// Keys, buttons, and the functions for Gradio's event handlers and tests.

import { byId } from "../shared/dom";
import { showAllLine } from "../shared/hidden";
import { LIST, TAB } from "../shared/gradio";
import { isReloaded } from "../shared/job";
import { onTheme } from "../shared/page";
import { required } from "../shared/required";
import { lesson } from "../shared/store";

import { branchRequest } from "./branch";
import { AnswerButton } from "./caption";
import { startVotes } from "./class_vote";
import { redrawDock, showDock } from "./dock";
import { startEmbedding } from "./embed";
import { startHoverLinks } from "./hover_links";
import { keepRun, resumeRun } from "./kept";
import { openLinked, query, startLinks } from "./links";
import { showMarks } from "./legend";
import { job, notice } from "./live";
import { startMode } from "./mode";
import { readLink } from "./live_link";
import { startDrops } from "./open_run";
import { endRace } from "./opening_race";
import { paint, paintMove } from "./paint";
import { isPresenting, startPresenting } from "./present";
import { act, KEYS, pause, play } from "./playback";
import { sameRequest } from "./repeat";
import { formOf, formOnScreen, load, openMoment, showLines } from "./runs";
import { lineBelow } from "./share";
import { showTimes } from "./lanes";
import { forgetSize, showSize } from "./size";
import { $, stage } from "./stage";
import { changed, feed, frameAt, go, player, received } from "./state";

import type { Start } from "../shared/section";
import type { Config } from "./player.py";

function onKey(event: KeyboardEvent) {
  if (event.key === "Escape" && player.whatIf && stage.element.offsetParent) {
    event.preventDefault(); // the same key would also leave presenter mode
    return go(player.at.round, player.at.step);
  }
  const name = KEYS[event.key];
  const target = event.target as Element;
  const typing = target.closest(
    "input:not([type=checkbox]), textarea, select, [contenteditable], [role=slider], " + LIST,
  );
  const pressing = event.key === " " && target.closest("button, a, [type=checkbox], " + TAB);
  // Other tabs, which are hidden, have elements of this class, too.
  const visible = [...document.querySelectorAll(".sv")].filter((each) => each.checkVisibility());
  const mine = visible.length === 1 || stage.element.contains(target);
  if (!name || typing || pressing || !mine || !stage.element.offsetParent) return;
  // They scroll, or turn a lesson.
  if (event.key.startsWith("Page") && (!isPresenting() || lesson.value)) return;
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  event.preventDefault();
  act(name);
}

// Fill in the form for the live run in a link, while a recorded run is shown. The visitor has to
// start it.
async function offer(text: string, name: string) {
  const linked = readLink(text);
  player.offered = linked ? name : "";
  const shown = await load(name);
  if (!linked) {
    notice("This link to a live run cannot be read, so a recorded run is shown.");
    return shown;
  }
  if (isReloaded()) {
    notice("Your live run was too long to be kept over a reload. Press Run live to make it again.");
    return formOf(linked);
  }
  notice(
    "This link asks for a live run. The form is filled in. Until you press Run live, a recorded run is shown.",
    "",
    AnswerButton("Run live", () => required(byId("sv-go")).click()),
  );
  return formOf(linked);
}

function showMode() {
  endRace();
  forgetSize();
  showDock();
  paint();
}

export const start: Start<Config> = (element, props, _watch, _trigger, config) => {
  stage.set(element, props, config);
  showMarks();
  $(".sv").append(lineBelow());
  if (stage.config.served) {
    $(".sv").append(showAllLine() ?? "");
    startVotes();
    startDrops();
    startEmbedding();
  }
  showTimes();
  startMode();
  showDock();
  received.on(showLines);
  changed.on((what) => {
    if (what === "playing") redrawDock();
    else if (what === "mode") showMode();
    else paintMove(what === "onward");
  });
  showSize(paint);
  document.addEventListener("keydown", onKey);
  startPresenting(query.get("present") === "1");
  startHoverLinks($(".sv"));
  onTheme(paint);
  const api = {
    ...job.verbs,
    load,
    formOnScreen,
    feed,
    branchRequest,
    same: sameRequest,
    play: () => play(false),
    pause,
    go,
    next: () => act("next"),
    back: () => act("back"),
    first: () => act("first"),
    last: () => act("last"),
    get cursor() {
      return { ...player.at };
    },
    get rounds() {
      return player.rounds.length;
    },
    /** The numbers of the rounds. */
    get numbers() {
      return player.rounds.map((round) => round.number);
    },
    get frame() {
      return player.rounds.length ? frameAt(player.at.round, player.at.step) : null;
    },
    get run() {
      return player.run;
    },
    get asked() {
      return job.wanted;
    },
    opened: undefined as Promise<unknown> | undefined,
  };
  const wanted = query.get("trace");
  const [first] = stage.config.recorded;
  const name = wanted && stage.config.recorded.includes(wanted) ? wanted : first;
  startLinks(openMoment);
  keepRun();
  const linked = query.get("run");
  const resumed = resumeRun();
  if (resumed) api.opened = resumed.then(formOf);
  else if (name && linked !== null) api.opened = offer(linked, name);
  else if (name) {
    const opened = load(name);
    if (name === wanted) api.opened = opened; // otherwise the form keeps its initial values
  }
  if (stage.config.served) openLinked();
  return api;
};
