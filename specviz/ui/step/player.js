// Keys, buttons, and the functions for other sections: `window.specviz.players`.

import { byId } from "../shared/dom.js";
import { showAllLine } from "../shared/hidden.js";
import { LIST, TAB } from "../shared/gradio.js";
import { isReloaded } from "../shared/job.js";
import { onTheme, page } from "../shared/page.js";
import { pictures } from "../shared/picture.js";
import { there } from "../shared/there.js";
import { h } from "../shared/view.js";
import { branchRequest } from "./branch.js";
import { AnswerButton } from "./caption.js";
import { startVotes } from "./class_vote.js";
import { go, now, onMove } from "./cursor.js";
import { SaveFilm } from "./film.js";
import { redrawDock, showDock } from "./dock.js";
import { startEmbedding } from "./embed.js";
import { startHoverLinks } from "./hover_links.js";
import { keepRun, resumeRun } from "./kept.js";
import { openLinked, query, startLinks } from "./links.js";
import { showLegends } from "./legend.js";
import { job, notice } from "./live.js";
import { startMode } from "./mode.js";
import { readLink } from "./live_link.js";
import { OpenRun, startDrops } from "./open_run.js";
import { endRace } from "./opening_race.js";
import { paint, paintMove } from "./paint.js";
import { isPresenting, presentButtons, startPresenting } from "./present.js";
import { act, KEYS, onPlayback, pause, play } from "./playback.js";
import { feed, frameAt, onLines, reel } from "./reel.js";
import { SaveRun } from "./replay_file.js";
import { SaveRunFile } from "./run_file.js";
import { fetchAhead, formOf, formOnScreen, lineViews, load, openMoment } from "./runs.js";
import { forgetSize, showSize } from "./size.js";
import { aboutMoment } from "./source_line.js";
import { $, stage } from "./stage.js";
import { showEmptyTimeline } from "./timeline.js";
import { worksheetLinks } from "./worksheet.js";

/** @import { Start } from "../shared/section.js" */
/** @import { Link } from "./cursor.js" */
/** @import { Config } from "./player.py" */

/** @param {KeyboardEvent} event */
function onKey(event) {
  if (event.key === "Escape" && now.whatIf && stage.element.offsetParent) {
    event.preventDefault(); // the same key would also leave presenter mode
    return go(now.at.round, now.at.step);
  }
  const name = KEYS[event.key];
  const target = /** @type {Element} */ (event.target);
  const typing = target.closest(
    "input:not([type=checkbox]), textarea, select, [contenteditable], [role=slider], " + LIST,
  );
  const pressing = event.key === " " && target.closest("button, a, [type=checkbox], " + TAB);
  // Other tabs, which are hidden, have elements of this class, too.
  const visible = [...document.querySelectorAll(".sv")].filter((each) => each.checkVisibility());
  const mine = visible.length === 1 || stage.element.contains(target);
  if (!name || typing || pressing || !mine || !stage.element.offsetParent) return;
  if (event.key.startsWith("Page") && !isPresenting()) return; // they scroll
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  event.preventDefault();
  act(name);
}

// Fill in the form for the live run in a link, while a recorded run is shown. The visitor has to
// start it.
/** @param {string} text @param {string} name */
async function offer(text, name) {
  const linked = readLink(text);
  now.offered = linked ? name : "";
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
    AnswerButton("Run live", () => there(byId("sv-go")).click()),
  );
  return formOf(linked);
}

function showMode() {
  endRace();
  forgetSize();
  showDock();
  paint();
}

/** @type {[name: string, part: string][]} */
const FIGURES = [
  ["text", ".sv-strip"],
  ["draft tree", ".sv-tree-part"],
  ["target pass", ".sv-pass"],
  ["coin and table", ".sv-panel"],
  ["why these guesses", ".sv-why"],
  ["timeline", ".sv-time"],
];
// What an excerpt (replay.js) shows of these is one figure.
const EXCERPT = [".sv-strip", ".sv-caption", ".sv-tree-part", ".sv-pass", ".sv-panel", ".sv-time"];

function savers() {
  if (document.body.classList.contains("sv-excerpt"))
    return pictures(aboutMoment, [["step of a run", () => EXCERPT.map((part) => $(part))]]);
  const { served } = stage.config;
  const files = served ? [SaveRun(), SaveRunFile(), ...OpenRun()] : [];
  return pictures(
    aboutMoment,
    FIGURES.map(([name, part]) => [name, () => $(part)]),
    [h(SaveFilm, null), ...files],
  );
}

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  onLines(lineViews);
  onMove(paintMove);
  onPlayback(redrawDock);
  showLegends();
  $(".sv").append(savers());
  if (stage.config.served) {
    $(".sv").append(worksheetLinks(), presentButtons(), showAllLine() ?? "");
    startVotes();
    startDrops();
    startEmbedding();
  }
  showEmptyTimeline();
  startMode(showMode);
  showDock();
  showSize(paint);
  document.addEventListener("keydown", onKey);
  startPresenting(query.get("present") === "1");
  startHoverLinks($(".sv"));
  onTheme(paint);
  const api = {
    ...job.verbs,
    load,
    fetchAhead,
    formOnScreen,
    feed,
    wish: branchRequest,
    play: () => play(false),
    pause,
    go,
    next: () => act("next"),
    back: () => act("back"),
    first: () => act("first"),
    last: () => act("last"),
    get cursor() {
      return { ...now.at };
    },
    get rounds() {
      return reel.rounds.length;
    },
    /** @param {string} run @param {Link} link */
    open: (run, link) => openMoment({ run, ...link }),
    /** The numbers of the rounds. */
    get numbers() {
      return reel.rounds.map((round) => round.number);
    },
    get frame() {
      return reel.rounds.length ? frameAt(now.at.round, now.at.step) : null;
    },
    get run() {
      return reel.run;
    },
    get asked() {
      return job.wanted;
    },
    /** @type {Promise<unknown> | undefined} */
    opened: undefined,
  };
  page("players")[stage.config.name] = api;
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
}
