// Buttons, the slider, the width, and what others may use: `window.specviz.races`.

const WIDE = 1050, SLIM = 728; // px of the part's own width: a page may be zoomed
let shownWidth = 0; // of the bars as they are drawn
let fitted = 0; // of the part
let seen = false; // whether the part is in sight

function fit() {
  const root = $(".sv-race"), width = root.clientWidth;
  if (!width || width === fitted) return;
  fitted = width;
  root.classList.toggle("sv-race-mid", width < WIDE);
  root.classList.toggle("sv-race-slim", width <= SLIM);
  if (!story.lanes.size) return;
  const at = time(), on = playing;
  redraw(lead ? at : longest());
  if (!on) return;
  playing = false; // the hands are new
  play();
}

function legends() {
  $(".sv-race-times").append(
    keyed(patch("q"), "drafting"), keyed(patch("p"), "target pass"), keyed(patch("rest"), "the rest"),
    ...["accepted", "recovered", "bonus"].map((state) => {
      const made = keyed(mark(state), state, "sv-race-k-" + state);
      made.title = meaning(state);
      return made;
    }));
}

function start() {
  legends();
  fit();
  new ResizeObserver(fit).observe(element);
  new IntersectionObserver(([entry]) => {
    seen = entry.isIntersecting;
    if (!seen && playing && !element.offsetParent) pause(); // another tab was opened
    playIfSeen();
  }).observe($(".sv-race-board"));
  document.addEventListener("visibilitychange", playIfSeen);
  $("[data-race=restart]").append(icon("first"));
  for (const button of element.querySelectorAll("[data-race]")) button.addEventListener("click", () => act(button.dataset.race));
  $(".sv-race-axis").addEventListener("pointerdown", onAxisPress);
  $(".sv-race-pin").addEventListener("keydown", onAxisKey);
  showPlay();
  showSpeed();
  watch("value", () => hear(props.value));
  const shared = (window.specviz = window.specviz || {});
  shared.races = shared.races || {};
  shared.races[CONFIG.name] = {
    begin, stop, ended, load, hear, seek, play, pause,
    get time() { return time(); },
    get playing() { return playing; },
    get race() { return story.race; },
    get whole() { return story.whole; },
    get tokens() { return Object.fromEntries([...rows].map(([name, made]) => [name, Math.max(0, made.tokens)])); },
  };
  const names = CONFIG.recorded || [], asked = new URLSearchParams(location.search).get("race");
  const first = names.includes(asked) ? asked : names[0];
  if (!first) notice(EMPTY);
  shared.races[CONFIG.name].opened = first ? load(first) : undefined;
}

start();
