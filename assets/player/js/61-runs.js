// What arrives: recorded runs that are fetched, live runs that are streamed.

const STOPPED = "Stopped. What was made stays.";
let fresh = false; // a run has begun and no round of it is on screen yet
let shown = "none"; // "recorded", "live" or "none": whose run is on screen
let number = 0; // of this page's live run; 0 when none is under way
let wanted = 0; // the live run to show; 0 once a recorded one was chosen instead

const waiting = () => shown === "live" && number > 0 && !reel.finished;

function onRun() {
  fresh = true;
  question = null;
  at = { round: 0, step: 0 };
  cached = { round: null, frames: [] };
  clearText();
  notice("");
  $(".sv-badge").textContent = reel.run.source;
  $(".sv-badge").title = meaning(reel.run.source);
  $(".sv-where").textContent = reel.run.drafter + " drafts for " + reel.run.where + " · " + reel.run.said;
  $(".sv-lossy").textContent = reel.run.lossless ? "" : "not lossless";
  $(".sv").dataset.source = reel.run.source;
}

function onRounds() {
  if (fresh) {
    fresh = false;
    if (shown === "recorded" && follow()) return;
    paint();
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) play(true);
  } else {
    showDock(at.round, at.step);
    showTime(frameAt(at.round, at.step), at.round);
  }
}

function onEnd() {
  if (reel.finished && reel.finished.reason === "stopped") notice(STOPPED);
  if (reel.rounds.length) showTime(frameAt(at.round, at.step), at.round);
}

function notice(sentence) {
  $(".sv-notice").textContent = sentence;
  $(".sv-notice").hidden = !sentence;
}

async function load(name) {
  pause();
  const answer = await fetch(CONFIG.traces + encodeURIComponent(name));
  if (!answer.ok) return notice("This recorded run could not be read. " + (answer.status === 422 ? await answer.text() : ""));
  const text = await answer.text();
  shown = "recorded";
  wanted = 0;
  reel.text = "";
  feed(text);
  return undefined;
}

// Live runs: the page numbers them; the server is told which one to stop.
function begin() {
  number = number || Date.now();
  wanted = number;
  notice("Starting: waiting for the models, or for another run to end.");
  document.body.classList.add("sv-running");
  return number;
}

function stop() {
  if (number) notice("Stopping after this round.");
  return number;
}

// The server is done with the run, however it went.
function ended() {
  number = 0;
  document.body.classList.remove("sv-running");
  const said = $(".sv-notice").textContent;
  if (said.startsWith("Stopping")) notice(STOPPED);
  if (reel.run && shown === "live" && Number(reel.run.id) === wanted) return;
  if (wanted && said.startsWith("Starting")) notice("The server did not take this run. Try again.");
}

function receive() {
  if (!props.value) return;
  const first = JSON.parse(props.value.slice(0, props.value.indexOf("\n")));
  if (!wanted || Number(first.id) !== wanted) return;
  if (first.kind === "run" && shown !== "live") {
    shown = "live";
    reel.text = "";
  }
  feed(props.value);
}
