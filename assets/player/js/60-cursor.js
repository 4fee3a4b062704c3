// The cursor: where the reader is, how it moves, and autoplay.

const PACE = { propose: 450, score: 1000, judge: 1500, draw: 2000, commit: 1100 };
let at = { round: 0, step: 0 };
let timer = null;
let untilRejection = false;

function following(round, step) {
  if (round >= reel.rounds.length) return null;
  if (step + 1 < stepsOf(round)) return [round, step + 1];
  return round + 1 < reel.rounds.length ? [round + 1, 0] : null;
}

function preceding(round, step) {
  if (step > 0) return [round, step - 1];
  return round > 0 ? [round - 1, stepsOf(round - 1) - 1] : null;
}

function go(round, step) {
  if (!reel.rounds.length) return;
  const index = Math.max(0, Math.min(round, reel.rounds.length - 1));
  const to = { round: index, step: Math.max(0, Math.min(step, stepsOf(index) - 1)) };
  const onward = to.round === at.round && to.step === at.step + 1;
  at = to;
  question = null;
  paint();
  if (onward) animate(frameAt(at.round, at.step));
}

// One step on; false at the end.
function advance() {
  const to = following(at.round, at.step);
  if (question) reveal();
  else if (to && mustAsk(to)) ask(to);
  else if (to) go(...to);
  return Boolean(to);
}

function paint() {
  if (!reel.rounds.length) return;
  const frame = frameAt(at.round, at.step);
  const refocus = holdFocus();
  supposed = null;
  showCaption(frame.caption);
  showText(frame, at.round);
  showPanel(frame.panel);
  showTree(frame.tree);
  showDock(at.round, at.step);
  showTime(frame, at.round);
  remember(frame);
  if (question) ask(question);
  refocus();
}

// What has the focus is made anew by a step: its successor takes it, or it would be lost.
const HELD = [".sv-spot", ".sv-pin[role=slider]", ".sv-seg, .sv-step", ".sv-chip", ".sv-done"];

function holdFocus() {
  const now = document.activeElement;
  const kind = element.contains(now) && HELD.find((selector) => now.matches(selector));
  const place = kind ? [...element.querySelectorAll(kind)].indexOf(now) : -1;
  return () => {
    if (!kind || now.isConnected) return;
    const all = [...element.querySelectorAll(kind)];
    const same = all.find((each) => each.getAttribute("aria-label") === now.getAttribute("aria-label"));
    const next = same || all[Math.min(place, all.length - 1)];
    if (next) next.focus({ preventScroll: true });
  };
}

const DO = {
  first: () => go(0, 0),
  last: () => go(reel.rounds.length - 1, stepsOf(reel.rounds.length - 1) - 1),
  next: advance,
  back: () => { const to = preceding(at.round, at.step); if (to) go(...to); },
  play: () => (timer ? pause() : play(false)),
};
const KEYS = { ArrowRight: "next", ArrowLeft: "back", Home: "first", End: "last", " ": "play" };

function act(name) {
  if (name !== "play") pause();
  if (reel.rounds.length) DO[name]();
}

// Autoplay. On its own it starts once, and halts at the first rejection.
function play(halts) {
  untilRejection = halts;
  clearTimeout(timer);
  timer = setTimeout(tick, pace());
  showPlay();
}

function pace() {
  return reel.rounds.length ? PACE[frameAt(at.round, at.step).step.kind] : 200;
}

function tick() {
  const moved = advance();
  if (question || (!moved && !waiting())) return pause();
  const rejected = frameAt(at.round, at.step).caption.is === "rejected";
  if (untilRejection && moved && rejected) return pause();
  timer = setTimeout(tick, pace());
}

function pause() {
  clearTimeout(timer);
  timer = null;
  showPlay();
}

function showPlay() {
  const button = $("[data-do=play]");
  button.replaceChildren(icon(timer ? "pause" : "play"));
  button.setAttribute("aria-label", timer ? "Pause" : "Play");
}
