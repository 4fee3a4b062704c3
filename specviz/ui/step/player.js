// Keys, buttons, and what others may use: `window.specviz.players`.

import { byId, icon } from "../shared/dom.js";
import { LIST, TAB } from "../shared/gradio.js";
import { onTheme, page } from "../shared/page.js";
import { pictures } from "../shared/picture.js";
import { fetchPlotly } from "../shared/plot.js";
import { moveAmong } from "../shared/stops.js";
import { there } from "../shared/there.js";
import { wish } from "./branch.js";
import { answerButton } from "./caption.js";
import { go, onMove } from "./cursor.js";
import { showGuessing } from "./guess.js";
import { startHoverLinks } from "./hover_links.js";
import { keepUnfinished, showUnfinished } from "./kept.js";
import { asked, openLinked, restore, startLinks } from "./links.js";
import { job, notice } from "./live.js";
import { readLink } from "./live_link.js";
import { now } from "./now.js";
import { paint, paintMove } from "./paint.js";
import { act, KEYS, pause, play } from "./play.js";
import { feed, frameAt, onNews, reel } from "./reel.js";
import { formOf, load, news, receive } from "./runs.js";
import { showSize } from "./size.js";
import { $, stage } from "./stage.js";
import { timeLegend } from "./time.js";
import { legends } from "./tree.js";

/** @import { Start } from "../shared/data.js" */
/** @import { Config } from "./data.js" */

/** @param {KeyboardEvent} event */
function onKey(event) {
  const name = KEYS[event.key];
  const target = /** @type {Element} */ (event.target);
  const typing = target.closest(
    "input, textarea, select, [contenteditable], [role=slider], " + LIST,
  );
  const pressing = event.key === " " && target.closest("button, a, " + TAB);
  const mine = document.querySelectorAll(".sv").length === 1 || stage.element.contains(target);
  if (!name || typing || pressing || !mine || !stage.element.offsetParent) return;
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  event.preventDefault();
  act(name);
}

// Fills the form in for the live run that a link asks for, while a recorded run is shown. It is the
// visitor who starts it.
/** @param {string} text @param {string} name */
async function offer(text, name) {
  const wanted = readLink(text);
  now.offered = wanted ? name : "";
  const usual = await load(name);
  if (!wanted) {
    notice("This link to a live run cannot be read, so a recorded run is shown.");
    return usual;
  }
  notice(
    "This link asks for a live run. The form is filled in; until you start it, a recorded run is shown.",
  );
  $(".sv-notice").append(
    " ",
    answerButton("Run live", () => there(byId("sv-go")).click()),
  );
  return formOf(wanted);
}

/** @type {Start<Config>} */
export function start(element, props, watch, _trigger, config) {
  stage.set(element, props, config);
  onNews(news);
  onMove(paintMove);
  legends();
  $(".sv").append(
    pictures([
      ["draft tree", () => $(".sv-evidence > section")],
      ["coin and table", () => $(".sv-panel")],
      ["timeline", () => $(".sv-time")],
    ]),
  );
  timeLegend();
  showGuessing();
  showSize(paint);
  /** @type {NodeListOf<HTMLElement>} */
  const buttons = element.querySelectorAll("[data-do]");
  for (const button of buttons) {
    const name = there(button.dataset.do);
    if (name === "next") button.append(icon("next"));
    else button.replaceChildren(icon(name));
    button.addEventListener("click", () => act(name));
  }
  document.addEventListener("keydown", onKey);
  startHoverLinks($(".sv"));
  $(".sv-spots").addEventListener("keydown", moveAmong);
  $(".sv-rounds").addEventListener("keydown", moveAmong);
  $(".sv-past").addEventListener("keydown", moveAmong);
  onTheme(paint);
  watch("value", receive);
  const face = {
    begin: () => job.begin(),
    stop: () => job.stop(),
    ended: () => job.ended(),
    load,
    restore: () => restore(load),
    feed,
    wish,
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
  page("players")[stage.config.name] = face;
  fetchPlotly().then(
    () => paint(),
    (problem) => notice(problem.message),
  );
  const wanted = asked.get("trace");
  const [first] = stage.config.recorded;
  const name = wanted && stage.config.recorded.includes(wanted) ? wanted : first;
  startLinks();
  keepUnfinished();
  const linked = asked.get("run");
  if (showUnfinished()) face.opened = Promise.resolve(formOf(there(reel.run)));
  else if (name && linked !== null) face.opened = offer(linked, name);
  else if (name) {
    const opened = load(name);
    if (name === wanted) face.opened = opened; // else the form stays as it is at first
  } else $(".sv-say").textContent = "Write a prompt and press Run live.";
  openLinked();
}
