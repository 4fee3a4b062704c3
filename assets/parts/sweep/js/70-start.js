// Buttons, theme, width, and what others may use: `window.specviz.sweeps`.

function start() {
  legend();
  window.specviz = window.specviz || {};
  window.specviz.sweeps = window.specviz.sweeps || {};
  window.specviz.sweeps[CONFIG.name] = { begin, stop, ended, get sweep() { return on; }, get under() { return number; } };
  const press = (which) => document.querySelector("#" + CONFIG.name + "-" + which).click();
  $(".sv-sweep-go").addEventListener("click", () => press("go"));
  $(".sv-sweep-stop").addEventListener("click", () => press("stop"));
  onTheme(draw);
  new ResizeObserver(draw).observe($(".sv-sweep-place"));
  watch("value", receive);
  if (CONFIG.recorded) show(CONFIG.recorded);
  else say("notice", "No recorded sweep is here. Measure this machine to see one.");
  fetchPlotly().then((loaded) => { plotly = loaded; draw(); }, (problem) => say("alert", problem.message));
}

start();
