// Wires the controls, lists the sources, asks the first question.

function sourceList() {
  const letters = Object.entries(CONFIG.evidence).map(([letter, meaning]) =>
    el("div", "", el("dt", "sv-roofline-letter", letter), el("dd", "", meaning)));
  $(".sv-roofline-evidence").replaceChildren(...letters);
  const presets = [...Object.values(CONFIG.machines), ...Object.values(CONFIG.models)];
  const made = presets.map((preset) => {
    const rows = preset.sources.map((source) => el("li", "", link(source), source[3] ? ": " + source[3] : ""));
    const sheet = preset.sheet && el("li", "", "the vendor’s own sheet, as these name it, not read: ", preset.sheet);
    return el("div", "", el("h4", "", preset.title), el("ul", "", ...rows, sheet || null), preset.note ? el("p", "", preset.note) : null);
  });
  $(".sv-roofline-list").replaceChildren(...made);
}

function wire() {
  for (const [name, [least, most]] of Object.entries(CONFIG.limits)) {
    named(name).min = least;
    named(name).max = most;
  }
  const slide = $("[data-slide=batch]");
  slide.max = CONFIG.stops.length - 1;
  slide.addEventListener("input", () => {
    named("batch").value = CONFIG.stops[slide.value];
  });
  $(".sv-roofline-form").addEventListener("input", (event) => {
    if (["hardware", "model"].includes(event.target.name)) offer();
    if (["gamma", "alpha"].includes(event.target.name)) $(".sv-roofline-taken").hidden = true;
    show();
    ask();
  });
  $(".sv-roofline-take").addEventListener("click", () => take(window.specviz.measured));
}

function begin() {
  const titled = (presets) => Object.entries(presets).map(([name, { title }]) => [name, title]);
  options(named("hardware"), titled(CONFIG.machines));
  options(named("model"), titled(CONFIG.models));
  questions();
  sourceList();
  wire();
  fill(CONFIG.usual);
  window.specviz = window.specviz || {};
  window.specviz.roofline = {
    wish, ask: (values) => (fill(values), ask()),
    get asked() { return asked; }, get idle() { return shown === asked && !retry; },
  };
  onTheme(draw);
  let wide = 0;
  new ResizeObserver(() => {
    const now = $(".sv-roofline-out").clientWidth;
    if (now && now !== wide) draw();
    wide = now;
  }).observe(element);
  window.addEventListener("sv-measured", showTake);
  showTake();
  watch("value", receive);
  fetchPlotly().then((loaded) => { plotly = loaded; draw(); });
  ask();
  expect(CONFIG.name, take);
}

begin();
