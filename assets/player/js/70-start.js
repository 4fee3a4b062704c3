// Keys, buttons, and what others may use: `window.specviz.players`.

window.specviz = window.specviz || {};
window.specviz.players = window.specviz.players || {};

function onKey(event) {
  const name = KEYS[event.key];
  const typing = event.target.closest("input, textarea, select, [contenteditable], [role=listbox], [role=slider]");
  const pressing = event.key === " " && event.target.closest("button, a, [role=tab]");
  const mine = document.querySelectorAll(".sv").length === 1 || element.contains(event.target);
  if (!name || typing || pressing || !mine || !element.offsetParent) return;
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  event.preventDefault();
  act(name);
}

function start() {
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
  $(".sv-spots").addEventListener("keydown", moveSpot);
  onTheme(paint);
  watch("value", receive);
  window.specviz.players[CONFIG.name] = {
    begin, stop, ended, load, feed, wish, play: () => play(false), pause, go,
    next: () => act("next"), back: () => act("back"), first: () => act("first"), last: () => act("last"),
    get cursor() { return { ...at }; },
    get rounds() { return reel.rounds.length; },
    get frame() { return reel.rounds.length ? frameAt(at.round, at.step) : null; },
    get run() { return reel.run; },
    get asked() { return wanted; },
  };
  fetchPlotly().then((loaded) => { plotly = loaded; paint(); }, (problem) => notice(problem.message));
  const name = CONFIG.recorded.includes(asked.get("trace")) ? asked.get("trace") : CONFIG.recorded[0];
  window.specviz.players[CONFIG.name].opened = name ? load(name) : undefined;
}

start();
openLinked();
