// Links: ?trace=name&round=6&step=judge-3 opens a recorded run at a step, ?run={...} fills in the
// form for a live run, and ?tab=cost opens a tab other than Step. The address is updated as the
// reader moves, and Back returns to earlier tabs and steps. A branch of a run, and the way back
// from it, lead to a step in the same way.

import { addressWith } from "../shared/address";
import { tabAt } from "../shared/gradio";
import { openTab } from "../shared/tabs";
import { required } from "../shared/required";
import { link } from "../shared/store";
import { go, placeOf, player } from "./state";
import { liveLink } from "./live_link";
import { isPlaying, pause } from "./playback";
import { stage } from "./stage";

import type { DrawnFrame as Frame } from "../../figures/frame.py";
import type { Link } from "./state";
export type Moment = { run: string; round: number; step: string; recorded: boolean };

export const query = new URLSearchParams(location.search);
player.link = query.get("round")
  ? { round: Number(query.get("round")), step: query.get("step") }
  : null;

// Show the notice for a link to a recorded run that does not exist; its round is then ignored.
export function missingRunNotice() {
  const name = query.get("trace");
  if (!name || stage.config.recorded.includes(name)) return "";
  player.link = null;
  const called = name.length > 60 ? name.slice(0, 60) + "…" : name;
  return `There is no recorded run called “${called}” here, so the first one is shown.`;
}

const FIRST = "step"; // the tab of an address that names none

// Keys that a tab reads when it is opened: a link with one of them opens this tab, even if it does
// not name a tab.
const TABS: Record<string, string> = {
  race: "compare",
  rules: "lossless",
  case: "lossless",
  ranked: "lossless",
  tree: "trees",
  judged: "trees",
  models: "models",
  alpha: "cost",
  gamma: "cost",
  c: "cost",
  verify: "cost",
};

export function openLinked() {
  const key = Object.keys(TABS).find((name) => query.has(name));
  // What `ranked` opens was on Trees, so such a link may name that tab.
  const tab = (key !== "ranked" && query.get("tab")) || (key ? TABS[key] : "");
  if (!tab) return;
  history.replaceState({ ...history.state, tab }, "", addressWith({ tab }));
  openTab(tab);
}

// Move the cursor to the step of a link; return false if its round has not arrived yet.
export function follow() {
  const place = player.link && placeOf(player.link);
  if (!place) return false;
  player.at = { round: place[0], step: place[1] };
  return true;
}

const SETTLED = 300; // ms at one step, so that a key held down adds one history entry
let remembering = 0; // the timer until the address is updated
let pending: Moment | null = null; // the step that is not in the address yet
let returning = false; // whether Back or Forward is loading the run of its address

/** Return whether there is an address; a file in a frame, as in a notebook, has none. */
const hasAddress = () => stage.config.served || window.parent === window;

export function remember(frame: Frame) {
  if (!hasAddress() || returning) return; // the run still on screen has lost its address
  clearTimeout(remembering);
  pending = {
    run: required(player.run).id,
    round: player.rounds[player.at.round].number,
    step: frame.step.id,
    recorded: player.shown === "recorded",
  };
  remembering = setTimeout(write, SETTLED);
}

const remembered = (): Moment | undefined => history.state?.moment;

// Write the address of the current step; as a new history entry, unless the page moved by itself.
function write() {
  clearTimeout(remembering);
  const moment = pending;
  pending = null;
  if (!moment || player.offered === moment.run) return;
  const before = remembered();
  const url = addressOf(moment);
  if (before && JSON.stringify(before) === JSON.stringify(moment) && url.href === location.href)
    return;
  const state = { ...history.state, moment };
  if (!before || isPlaying()) history.replaceState(state, "", url);
  else history.pushState(state, "", url);
}

function addressOf(moment: Moment) {
  const at = { round: String(moment.round), step: moment.step };
  if (!stage.config.served) return addressWith(at);
  if (moment.recorded) return addressWith({ ...at, trace: moment.run, run: null });
  const link = player.shown === "live" && liveLink(required(player.run)).text;
  return addressWith({ trace: null, round: null, step: null, run: link || null });
}

/** Move to a step of the run on screen. */
export function moveTo(moment: Link) {
  const place = placeOf(moment);
  pause();
  if (place) go(...place);
}

let open: (moment: Moment) => Promise<void> = async () => {};

function onBack(event: PopStateEvent) {
  const { tab, moment } = event.state ?? {};
  if (stage.config.served) openTab(tab ?? FIRST);
  if (!moment) return;
  if (player.run?.id === moment.run) moveTo(moment);
  else if (moment.recorded && stage.config.recorded.includes(moment.run)) openAgain(moment);
}

async function openAgain(moment: Moment) {
  clearTimeout(remembering);
  returning = true;
  await open(moment).finally(() => {
    returning = false;
  });
}

// Choosing a tab adds a history entry, but not if Back has opened the tab.
function onTab(event: Event) {
  const tab = tabAt("sv-tabs", event.target);
  if (tab && tab !== FIRST) pause();
  if (!tab || tab === (history.state?.tab ?? FIRST)) return;
  write();
  const url = addressWith({ tab: tab === FIRST ? null : tab });
  history.pushState({ ...history.state, tab }, "", url);
}

// The keys that links to another tab leave out. Links to Cost keep the run: it is compared there.
function keysOfStep() {
  const cost = history.state?.tab === "cost";
  return ["round", "step", ...(cost ? [] : ["trace", "run"])];
}

/** @param openMoment Opens a step of another recorded run. */
export function startLinks(openMoment: typeof open) {
  open = openMoment;
  if (!hasAddress()) return;
  window.addEventListener("popstate", onBack);
  document.addEventListener("click", onTab, true);
  link.on((detail) => {
    write();
    const shown = stage.element.offsetParent !== null;
    if (shown && player.shown === "live") detail.problem = liveLink(required(player.run)).problem;
    if (shown && player.shown === "file") detail.problem = "No link to a run from a file";
    if (!shown) detail.without.push(...keysOfStep());
  });
}
