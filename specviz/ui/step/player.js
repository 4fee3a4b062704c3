// Keys, buttons, and what others may use: `window.specviz.players`.

import { icon } from "../shared/dom.js";
import { onTheme, page } from "../shared/page.js";
import { fetchPlotly } from "../shared/plot.js";
import { moveAmong } from "../shared/stops.js";
import { act, go, KEYS, paint, pause, play } from "./cursor.js";
import { showGuessing } from "./guess.js";
import { asked, openLinked } from "./links.js";
import { job, notice } from "./live.js";
import { now } from "./now.js";
import { feed, frameAt, reel } from "./reel.js";
import { load, receive } from "./runs.js";
import { showSize } from "./size.js";
import { $, stage } from "./stage.js";
import { timeLegend } from "./time.js";
import { legends } from "./tree.js";
import { wish } from "./whatif.js";

function onKey(event) {
  const name = KEYS[event.key];
  const typing = event.target.closest(
    "input, textarea, select, [contenteditable], [role=listbox], [role=slider]",
  );
  const pressing = event.key === " " && event.target.closest("button, a, [role=tab]");
  const mine =
    document.querySelectorAll(".sv").length === 1 || stage.element.contains(event.target);
  if (!name || typing || pressing || !mine || !stage.element.offsetParent) return;
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  event.preventDefault();
  act(name);
}

export function start(element, props, watch, _trigger, config) {
  stage.set(element, props, config);
  legends();
  timeLegend();
  showGuessing();
  showSize();
  for (const button of element.querySelectorAll("[data-do]")) {
    const name = button.dataset.do;
    if (name === "next") button.append(icon("next"));
    else button.replaceChildren(icon(name));
    button.addEventListener("click", () => act(name));
  }
  document.addEventListener("keydown", onKey);
  $(".sv-spots").addEventListener("keydown", moveAmong);
  $(".sv-rounds").addEventListener("keydown", moveAmong);
  $(".sv-past").addEventListener("keydown", moveAmong);
  onTheme(paint);
  watch("value", receive);
  const players = page("players");
  players[stage.config.name] = {
    begin: () => job.begin(),
    stop: () => job.stop(),
    ended: () => job.ended(),
    load,
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
  };
  fetchPlotly().then(
    () => paint(),
    (problem) => notice(problem.message),
  );
  const name = stage.config.recorded.includes(asked.get("trace"))
    ? asked.get("trace")
    : stage.config.recorded[0];
  players[stage.config.name].opened = name ? load(name) : undefined;
  openLinked();
}
